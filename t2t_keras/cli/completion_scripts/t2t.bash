# Completes the t2t-* commands in bash. t2t-completion prints this script; it is made from the
# code by tests/support/text/reference_pages.py.

_t2t_words() {
  case $1 in
    t2t-attention)
      arguments='@folder' words='
        alpha=
        banned=
        beam=
        choose_alignment
        constrain=tree
        extra_length=
        first=
        gold=@file
        method=@file
        no_repeat_ngram=
        output=@folder
        penalty=gnmt|marian
        pieces
        sample
        seed=
        source=@file
        stopping=exact|first|patience
        target=@file
        temperature=
        to=
        top_k=
        top_p=
        translation=
        trust
        weights=
        help
        version
        flagfile=@file
        verbosity=-1|0|1
' ;;
    t2t-average)
      arguments='@folder' words='
        export
        noexport
        imports=@file
        last=
        trust
        help
        version
        flagfile=@file
        verbosity=-1|0|1
' ;;
    t2t-benchmark)
      arguments='train|decode|data|serve|gpu' words='
        config=@config
        connections=
        data=@folder
        engines=
        imports=@file
        input=@file
        length=
        lines=
        minutes=
        part=@file
        parts=
        requests=
        results=@file
        rounds=
        rows=
        run=@folder
        steps=
        texts=@file
        trust
        url=
        help
        version
        flagfile=@file
        verbosity=-1|0|1
' ;;
    t2t-compare)
      arguments='@folder' words='
        baseline=@folder
        output=@folder
        reference=@file
        source=@file
        to=
        trust
        help
        version
        flagfile=@file
        verbosity=-1|0|1
' ;;
    t2t-completion)
      arguments='bash|zsh' words='
        help
        version
        flagfile=@file
        verbosity=-1|0|1
' ;;
    t2t-distill)
      arguments='@folder' words='
        apache_beam
        beam=
        beam_options=
        choose=best|reference
        config=@config
        data=@folder
        dev_source=@file
        dev_target=@file
        dtype=float32|bfloat16|float16|int8
        engine=auto|litert|tensorflow|ctranslate2
        imports=@file
        keep=
        mono=@file
        n_best=
        ratio=
        real=
        repetitions=
        reverse=@folder
        run=@folder
        test=
        texts=@folder
        to=
        trust
        vocabulary=
        help
        version
        flagfile=@file
        verbosity=-1|0|1
' ;;
    t2t-evaluate)
      arguments='@folder' words='
        against=@file
        alpha=
        banned=
        beam=
        column=@file
        comet_model=
        constrain=tree
        dtype=float32|bfloat16|float16|int8
        engine=auto|litert|tensorflow|ctranslate2
        extra_length=
        first=
        hypotheses=@file
        imports=@file
        json
        lowercase
        mbr=
        mbr_metric=
        method=@file
        metrics=@file
        no_repeat_ngram=
        output=@file
        paper_bleu=
        parses=@file
        penalty=gnmt|marian
        reference=@file
        sample
        seed=
        source=@file
        stopping=exact|first|patience
        temperature=
        to=
        tokenize=13a|intl|char|none|zh|ja-mecab|ko-mecab
        top_k=
        top_p=
        treebank=@file
        trust
        weights=
        help
        version
        flagfile=@file
        verbosity=-1|0|1
' ;;
    t2t-export)
      arguments='@folder' words='
        alpha=
        banned=
        beam=
        constrain=tree
        dtype=float32|int8|bfloat16|float16
        extra_length=
        first=
        format=litert|portable|ctranslate2|saved_model|ids|keras|argos|hub
        imports=@file
        languages=
        license=
        method=@file
        n_best=
        no_repeat_ngram=
        output=@folder
        penalty=gnmt|marian
        renew
        sample
        seed=
        stopping=exact|first|patience
        temperature=
        to=
        top_k=
        top_p=
        trust
        weights=
        help
        version
        flagfile=@file
        verbosity=-1|0|1
' ;;
    t2t-import)
      arguments='@file' words='
        export
        noexport
        format=
        languages=
        num_heads=
        run=@folder
        source_begin
        nosource_begin
        source_end
        nosource_end
        target_space=
        trust
        help
        version
        flagfile=@file
        verbosity=-1|0|1
' ;;
    t2t-parameters)
      arguments='' words='
        config=@config
        diagram=@file
        imports=@file
        help
        version
        flagfile=@file
        verbosity=-1|0|1
' ;;
    t2t-prepare)
      arguments='' words='
        beam
        beam_options=
        best=
        column=@file
        config=@config
        data_dir=@folder
        imports=@file
        languages=
        leaves=tag|XX|word
        min_score=
        output=@folder
        pairs=@file
        rules=@file
        scores=@file
        shortest=
        source=@file
        split=
        strict
        tag=
        target=@file
        tfds=@folder
        toy_documents=
        treebank=@file
        vocabulary=@folder
        words=
        help
        version
        flagfile=@file
        verbosity=-1|0|1
' ;;
    t2t-report)
      arguments='@folder' words='
        alpha=
        banned=
        beam=
        constrain=tree
        examples=
        extra_length=
        first=
        limit=
        method=@file
        no_repeat_ngram=
        output=
        penalty=gnmt|marian
        reference=@file
        sample
        seed=
        source=@file
        stopping=exact|first|patience
        temperature=
        to=
        top_k=
        top_p=
        trust
        weights=
        help
        version
        flagfile=@file
        verbosity=-1|0|1
' ;;
    t2t-reproduce)
      arguments='table1|table2|table3|table4|claims' words='
        automatic=@file
        config=@config
        d_model=
        data=@folder
        data_dir=@folder
        dev=@file
        dev_source=@file
        dev_target=@file
        divide=
        divide_layers=
        evaluate_only
        first=
        heads=
        imports=@file
        kernel=
        language=
        layers=
        learning_rates=
        leaves=tag|XX|word
        lengths=
        neighbourhood=
        operations=
        output=@folder
        ratio=
        reduced=
        rounds=
        rows=
        run=@folder
        seeds=
        source=@file
        steps=
        target=@file
        test=@file
        test_source=@file
        test_target=@file
        tfds=@folder
        train=@file
        help
        version
        flagfile=@file
        verbosity=-1|0|1
' ;;
    t2t-score)
      arguments='@folder' words='
        dtype=float32|bfloat16|float16|int8
        engine=auto|litert|tensorflow|ctranslate2
        imports=@file
        json
        lines=
        output=@file
        pairs=@file
        pieces
        reverse=@folder
        reverse_to=
        source=@file
        target=@file
        to=
        trust
        weights=
        help
        version
        flagfile=@file
        verbosity=-1|0|1
' ;;
    t2t-serve)
      arguments='@folder' words='
        access_log=@file
        allowed_hosts=
        allowed_origins=
        api_key_file=@file
        batch_wait_ms=
        client_timeout_seconds=
        draft=@folder
        dtype=float32|bfloat16|float16|int8
        engine=auto|litert|tensorflow|ctranslate2
        glossary=@file
        grace_seconds=
        host=
        max_batch_rows=
        max_body_bytes=
        max_connections=
        max_file_bytes=
        max_memory_mb=
        max_rows_in_flight=
        max_segments=
        max_text_bytes=
        name=
        port=
        split=auto|off
        trust
        workers=
        help
        version
        flagfile=@file
        verbosity=-1|0|1
' ;;
    t2t-train)
      arguments='' words='
        config=@config
        data=@folder
        dev=
        dev_source=@file
        dev_target=@file
        export
        noexport
        freeze=
        imports=@file
        init=@folder
        run=@folder
        seeds=
        show
        sweep=
        tpu=
        trust
        help
        version
        flagfile=@file
        verbosity=-1|0|1
' ;;
    t2t-translate)
      arguments='@folder' words='
        alignments
        alpha=
        apache_beam
        banned=
        beam=
        beam_options=
        column=
        comet_model=
        confidence
        constrain=tree
        document=@folder
        draft=@folder
        dtype=float32|bfloat16|float16|int8
        engine=auto|litert|tensorflow|ctranslate2
        extra_length=
        final
        first=
        glossary=@file
        imports=@file
        input=@file
        json
        lines=
        markup=html|xml|placeholders
        mbr=
        mbr_metric=
        method=@file
        n_best=
        no_repeat_ngram=
        output=@file
        penalty=gnmt|marian
        prefix=
        prefixes=@file
        require=@file
        retranslate
        sample
        scores
        seed=
        split=auto|off
        stopping=exact|first|patience
        temperature=
        to=
        top_k=
        top_p=
        trust
        weights=
        help
        version
        flagfile=@file
        verbosity=-1|0|1
' ;;
    *) return 1 ;;
  esac
}

_t2t_settings='
        config.model.vocab_size=
        config.model.num_layers=
        config.model.d_model=
        config.model.d_ff=
        config.model.num_heads=
        config.model.d_k=
        config.model.d_v=
        config.model.dropout=
        config.model.attention_dropout=
        config.model.positions=alibi|concatenated|hugging_face|learned|none|sinusoidal|t5
        config.model.max_length=
        config.model.attention=additive|scaled|unscaled
        config.model.residual=True|False
        config.model.layer_norm=True|False
        config.model.neighbourhood=
        config.model.decoder_neighbourhood=
        config.model.decoder_layers=
        config.model.source_vocab_size=
        config.model.tie_output=True|False
        config.model.embedding_scale=
        config.model.source_end=True|False
        config.model.activation=relu|swish|gelu|gelu_tanh|gelu_sigmoid|celu|elu|exponential|hard_shrink|hard_sigmoid|hard_silu|hard_swish|hard_tanh|leaky_relu|linear|log_sigmoid|log_softmax|mish|relu6|selu|sigmoid|silu|soft_shrink|softmax|softplus|softsign|sparse_plus|sparse_sigmoid|sparsemax|squareplus|tanh|tanh_shrink
        config.model.attention_bias=True|False
        config.model.output_bias=True|False
        config.model.position_offset=
        config.model.pre_norm=True|False
        config.model.norm_epsilon=
        config.model.block=transformer
        config.model.block_options=
        config.model.units=
        config.model.attention_units=
        config.model.fast_forward=True|False
        config.model.experts=
        config.model.chosen=
        config.model.expert_units=
        config.model.balance=
        config.model.kernel=
        config.model.wide_layers=
        config.model.wide_units=
        config.model.top_layers=
        config.model.top_units=
        config.model.max_dilation=
        config.model.unfold_ratio=
        config.training.steps=
        config.training.seed=
        config.training.loss=label_smoothed_cross_entropy
        config.training.loss_options=
        config.training.label_smoothing=
        config.training.optimizer=adafactor|adam|adamw|lion|muon
        config.training.optimizer_options=
        config.training.warmup_steps=
        config.training.learning_rate=
        config.training.schedule=constant|inverse_sqrt|linear|paper
        config.training.schedule_options=
        config.training.accumulate=
        config.training.clip_norm=
        config.training.r_drop=
        config.training.guided_alignment=
        config.training.freeze=
        config.training.init_encoder_layers=
        config.training.init_decoder_layers=
        config.training.precision=float32|mixed_bfloat16
        config.training.tf32=True|False
        config.training.xla=auto|on|off
        config.training.communication=auto|nccl|ring
        config.training.log_every=
        config.training.evaluate_every=
        config.training.checkpoint_every=
        config.training.checkpoint_minutes=
        config.training.average=unless_worse|always
        config.training.keep=
        config.training.best_metric=
        config.training.patience=
        config.search.method=beam|sample
        config.search.beam=
        config.search.alpha=
        config.search.penalty=gnmt|marian
        config.search.extra_length=
        config.search.n_best=
        config.search.stopping=exact|first|patience
        config.search.temperature=
        config.search.top_k=
        config.search.top_p=
        config.search.seed=
        config.search.banned=
        config.search.first=
        config.search.no_repeat_ngram=
        config.search.constrain=tree
        config.data.folder=
        config.data.corpus_temperature=
        config.data.toy_pairs=
        config.data.dev_source=
        config.data.dev_target=
        config.data.dev=
        config.data.dev_pairs=
        config.data.cleaning.nfc=True|False
        config.data.cleaning.control_characters=True|False
        config.data.cleaning.invalid_utf8=True|False
        config.data.cleaning.empty=True|False
        config.data.cleaning.max_characters=
        config.data.cleaning.max_ratio=
        config.data.cleaning.length_ratio=
        config.data.cleaning.identical=True|False
        config.data.cleaning.max_words=
        config.data.cleaning.max_word_ratio=
        config.data.cleaning.max_word_length=
        config.data.cleaning.max_mean_word=
        config.data.cleaning.html_tags=True|False
        config.data.cleaning.links=True|False
        config.data.cleaning.max_links=
        config.data.cleaning.min_digits=
        config.data.cleaning.max_end_difference=
        config.data.cleaning.min_letters=
        config.data.cleaning.min_script=
        config.data.cleaning.max_similarity=
        config.data.cleaning.max_repetitions=
        config.data.cleaning.max_added_repetitions=
        config.data.cleaning.other_language=True|False
        config.data.cleaning.duplicates=True|False
        config.data.cleaning.rules=duplicates|empty|html_tags|identical|invalid_utf8|links|low_score|max_added_repetitions|max_characters|max_end_difference|max_links|max_mean_word|max_ratio|max_repetitions|max_similarity|max_word_length|max_word_ratio|max_words|min_digits|min_letters|min_script|other_language
        config.data.vocabulary.kind=bpe|word_pieces
        config.data.vocabulary.size=
        config.data.vocabulary.sample_pairs=
        config.data.vocabulary.seed=
        config.data.vocabulary.character_coverage=
        config.data.vocabulary.byte_fallback=True|False
        config.data.vocabulary.symbols=
        config.data.vocabulary.tags=
        config.data.encodings.per_sentence=
        config.data.encodings.bpe_dropout=
        config.data.encodings.seed=
        config.data.batches.tokens=
        config.data.batches.buckets=
        config.data.batches.max_length=
        config.data.batches.too_long=drop|truncate
        config.data.batches.row_multiple=
'

_t2t() {
  local IFS=$' \t\n' command=${1##*/}
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  local flag= start= words each name values=@arguments arguments
  COMPREPLY=()
  _t2t_words "$command" || return
  # bash divides --flag=value at the sign, unless COMP_WORDBREAKS lacks it.
  if [[ $word == = ]]; then
    flag=$before word=
  elif [[ $before == = ]]; then
    flag=${COMP_WORDS[COMP_CWORD-2]}
  elif [[ $word == --*=* ]]; then
    flag=${word%%=*} start=${word%%=*}= word=${word#*=}
  elif [[ $before == --* && $word != -* ]]; then
    flag=$before
  fi
  if [[ $flag == --config.* ]]; then words=$_t2t_settings; fi
  if [[ $flag ]]; then
    for each in $words; do
      if [[ $each == "${flag#--}="* ]]; then values=${each#*=}; fi
    done
  fi
  if [[ $values == @arguments && $word == -* ]]; then
    _t2t_names
    return
  fi
  if [[ $values == @arguments ]]; then values=$arguments; fi
  case $values in
    @file | @config) compopt -o default 2>/dev/null ;;
    @folder) compopt -o dirnames 2>/dev/null ;;
  esac
  if [[ $values == @config ]]; then
    values='base|big|bytenet|claims|convs2s|documents|finetune|gnmt|mixed|moe|multi30k|parsing|quickstart|small_treebank|student|table3|toy_sweep|wmt14_ende|wmt14_enfr'
    _t2t_files -X '!*.py'
  fi
  if [[ $values != @* ]]; then
    _t2t_add < <(compgen -P "$start" -W "${values//|/ }" -- "$word")
  elif [[ $start ]]; then
    _t2t_files
  fi
}

# Adds each line of the input to the completions. $(compgen …) would split names at spaces.
_t2t_add() {
  local line
  while IFS= read -r line; do COMPREPLY+=("$line"); done
}

# Adds the files that begin with the word. The arguments are options of compgen.
_t2t_files() {
  local file plain=${word//\\/} home
  if [[ $word == [\"\']* ]]; then return; fi  # inside quotes, readline completes
  while IFS= read -r file; do
    home=
    if [[ $plain == \~*/* ]]; then home=${file%%/*}/; fi  # in quotes it would be no folder
    printf -v file %q "${file#"$home"}"
    COMPREPLY+=("$start$home$file")
  done < <(compgen -f "$@" -- "$plain")
}

# Completes the name of a flag or a setting.
_t2t_names() {
  local names= rest
  if [[ $word == --config.* ]]; then
    for each in $_t2t_settings; do
      each=--${each%%=*}= rest=
      if [[ $each == "$word"* ]]; then rest=${each#"$word"}; fi
      # One group at a time: --config.data. before --config.data.batches.
      if [[ $rest == *.* ]]; then rest=${rest%%.*}.; fi
      if [[ $rest && " $names " != *" $word$rest "* ]]; then names+=" $word$rest"; fi
    done
  else
    for each in $words; do
      name=${each%%=*}
      if [[ $each == *=* ]]; then name+==; fi
      names+=" --$name"
      if [[ $name == config= ]]; then names+=" --config."; fi
    done
  fi
  _t2t_add < <(compgen -W "$names" -- "$word")
  if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[=.] ]]; then
    compopt -o nospace 2>/dev/null
  fi
}

complete -F _t2t t2t-attention t2t-average t2t-benchmark t2t-compare t2t-completion t2t-distill t2t-evaluate t2t-export t2t-import t2t-parameters t2t-prepare t2t-report t2t-reproduce t2t-score t2t-serve t2t-train t2t-translate
