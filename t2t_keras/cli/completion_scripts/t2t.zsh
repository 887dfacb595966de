#compdef t2t-attention t2t-average t2t-benchmark t2t-compare t2t-completion t2t-distill t2t-evaluate t2t-export t2t-import t2t-parameters t2t-prepare t2t-report t2t-reproduce t2t-score t2t-serve t2t-train t2t-translate
# Completes the t2t-* commands in zsh. t2t-completion prints this script; it is made from the
# code by tests/support/text/reference_pages.py.

_t2t_configs() {
  local -a names=(base big bytenet claims convs2s documents finetune gnmt mixed moe multi30k parsing quickstart small_treebank student table3 toy_sweep wmt14_ende wmt14_enfr)
  _alternative 'configs:shipped config:compadd -a names' 'files:file:_files -g "*.py"'
}

_t2t_settings() {
  local -a settings=(
        '--config.model.vocab_size:number of ids of the target, and of the source unless `source_vocab_size` is set'
        '--config.model.num_layers:N, layers of the encoder, and of the decoder unless `decoder_layers` is set'
        '--config.model.d_model:width of the embeddings and of every sub-layer'\''s output'
        '--config.model.d_ff:inner width of the feed-forward networks'
        '--config.model.num_heads:h, attention heads'
        '--config.model.d_k:width of a head'\''s queries and keys'
        '--config.model.d_v:width of a head'\''s values'
        '--config.model.dropout:rate of dropout on embeddings and on sub-layers'\'' outputs'
        '--config.model.attention_dropout:rate of dropout on the attention weights; the paper has some in parsing'
        '--config.model.positions:"sinusoidal", "learned", "none", "concatenated", "hugging_face", "t5" or "alibi"'
        '--config.model.max_length:rows in the table of learned positions'
        '--config.model.attention:computation of attention scores: "scaled", "unscaled" or "additive"'
        '--config.model.residual:False leaves out all residual connections'
        '--config.model.layer_norm:False leaves out all norms'
        '--config.model.neighbourhood:r of restricted self-attention (§4) in the encoder: positions that each position sees around itself'
        '--config.model.decoder_neighbourhood:r of restricted self-attention in the decoder: positions that each position sees, up to and including itself'
        '--config.model.decoder_layers:layers of the decoder'
        '--config.model.source_vocab_size:number of ids of the source'
        '--config.model.tie_output:whether the target'\''s embedding matrix also computes the logits'
        '--config.model.embedding_scale:factor on the embeddings'
        '--config.model.source_end:whether the model sees the end token of the source'
        '--config.model.activation:"relu", "swish", "gelu", "gelu_tanh", "gelu_sigmoid" or a name in `keras.activations`'
        '--config.model.attention_bias:whether the projections of attention have biases'
        '--config.model.output_bias:whether the logits have a bias'
        '--config.model.position_offset:index of the first position'
        '--config.model.pre_norm:norms before the sub-layers instead of after them'
        '--config.model.norm_epsilon:ε of the norms'
        '--config.model.block:kind of the blocks of encoder and decoder, a name in `BLOCKS` (layers/decoder.py)'
        '--config.model.block_options:options of these blocks, such as "kernel=5"; the paper'\''s blocks have none'
        '--config.model.units:width of the LSTMs'
        '--config.model.attention_units:width of the hidden layer of the attention'
        '--config.model.fast_forward:fast-forward connections (Zhou et al'
        '--config.model.experts:number of experts of a mixture'
        '--config.model.chosen:number of experts that compute a token, at least 2'
        '--config.model.expert_units:width of an expert'\''s hidden layer'
        '--config.model.balance:weight of the losses that balance the use of the experts'
        '--config.model.kernel:number of vectors in the window of a layer'
        '--config.model.wide_layers:number of layers with `wide_units`, below the top layers'
        '--config.model.wide_units:width of the wide layers'
        '--config.model.top_layers:number of layers with `top_units` and a kernel of 1, the last ones'
        '--config.model.top_units:width of the top layers'
        '--config.model.max_dilation:largest dilation, a power of 2'
        '--config.model.unfold_ratio:number of positions of the encoder per source token'
        '--config.training.steps:number of updates'
        '--config.training.seed:random seed for the initial weights, dropout and the order of the data'
        '--config.training.loss:name of a loss in `LOSSES`: "label_smoothed_cross_entropy", or a plug-in'\''s'
        '--config.training.loss_options:options of the loss, NAME=VALUE,NAME=VALUE'
        '--config.training.label_smoothing:ε of the loss'
        '--config.training.optimizer:"adam", as in the paper, "adamw", "adafactor", "lion", "muon", or a plug-in'\''s'
        '--config.training.optimizer_options:options of the optimizer, such as weight_decay=0.1,beta_1=0.95'
        '--config.training.warmup_steps:warm-up steps of the learning rate schedule'
        '--config.training.learning_rate:factor on the learning rate schedule'
        '--config.training.schedule:"paper"; "inverse_sqrt", the same curve named by its peak; "linear", which falls from the peak to 0 at the last step; "constant", without a decay after the warm-up; or a plug-in'\''s'
        '--config.training.schedule_options:options of a plug-in'\''s schedule, NAME=VALUE,NAME=VALUE'
        '--config.training.accumulate:number of parts into which a device splits its rows, to fit its memory'
        '--config.training.clip_norm:maximum norm of the gradients; larger ones are scaled down'
        '--config.training.r_drop:α of R-Drop, which computes every batch twice and adds the divergence of both predictions to the loss'
        '--config.training.guided_alignment:weight of guided alignment, which trains an attention head towards the data'\''s column "alignments"'
        '--config.training.freeze:names of layers that are not trained: "encoder", "decoder", "embedding", "source_embedding", "output_embedding", "source_positions", "target_positions"'
        '--config.training.init_encoder_layers:encoder layers to take from the run of --init, as indices in the order of the new encoder; -1 is a new layer'
        '--config.training.init_decoder_layers:decoder layers to take, as for the encoder'
        '--config.training.precision:"float32" or "mixed_bfloat16"'
        '--config.training.tf32:whether NVIDIA GPUs may round the operands of float32 products to 10 bits, which is faster'
        '--config.training.xla:"auto", "on" or "off"; "auto" compiles the step if there is a GPU or TPU'
        '--config.training.communication:how several GPUs exchange gradients: "auto", "nccl", or "ring", which does not need NCCL'
        '--config.training.log_every:steps between lines of progress and between points of the training curves'
        '--config.training.evaluate_every:steps between evaluations'
        '--config.training.checkpoint_every:steps between checkpoints'
        '--config.training.checkpoint_minutes:maximum minutes between checkpoints'
        '--config.training.average:"unless_worse": the run'\''s weights are the averaged ones, unless the newest or the best are significantly better on held-out text when training ends; or "always"'
        '--config.training.keep:number of newest checkpoints to keep, besides the best'
        '--config.training.best_metric:metric that decides which checkpoint is the best: "loss" or "bleu" of the main held-out set, the name of a set for its loss, or "NAME/bleu"'
        '--config.training.patience:evaluations without a better value of this metric after which training stops'
        '--config.search.method:"beam" for beam search, "sample" to draw tokens according to their probability, or a search method of a plug-in file'
        '--config.search.beam:beam width; 1 is greedy search'
        '--config.search.alpha:exponent α of the length penalty; 0 is no penalty'
        '--config.search.penalty:length penalty by which log P is divided: "gnmt", ((5 + length) / 6)^α, as in the paper; or "marian", length^α, as in Marian, Hugging Face and CTranslate2'
        '--config.search.extra_length:maximum length of an output beyond its source, in tokens'
        '--config.search.n_best:hypotheses returned for each sentence; in sampling, hypotheses drawn'
        '--config.search.stopping:when a beam search stops: "exact", when no other hypothesis can become one of the `n_best` best; "first", when no live hypothesis would be one of them if it ended now; "patience", when `beam` hypotheses have ended, as in CTranslate2 and fairseq'
        '--config.search.temperature:divisor of the logits in sampling; below 1 favors likely tokens'
        '--config.search.top_k:number of most likely tokens that sampling draws from; 0: all'
        '--config.search.top_p:minimum total probability of the tokens that sampling draws from: as few as possible, the most likely ones; 1: all'
        '--config.search.seed:random seed for sampling'
        '--config.search.banned:tokens that an output must not contain'
        '--config.search.first:tokens that an output may begin with; empty: all'
        '--config.search.no_repeat_ngram:length in tokens of n-grams that an output may contain only once; 0: no constraint'
        '--config.search.constrain:constraint on the outputs of a parser: "tree" for trees over the words of their sentences, "" for none'
        '--config.data.folder:folder of training data from t2t-prepare, or a mix of several with the shares of their pairs, such as "general:1,mine:4"'
        '--config.data.corpus_temperature:temperature of the shares of several corpora without weights, see `read_corpora`'
        '--config.data.toy_pairs:number of training pairs from the toy grammar'
        '--config.data.dev_source:text files for evaluation during training'
        '--config.data.dev_target:text files for evaluation during training'
        '--config.data.dev:several named held-out sets instead of `dev_source` and `dev_target`, each "NAME=SOURCE,TARGET", or "NAME=SOURCE,TARGET,TO" with a tag'
        '--config.data.dev_pairs:number of lines to use from the start of the files of each set'
        '--config.data.cleaning.nfc:compose characters (Unicode NFC)'
        '--config.data.cleaning.control_characters:remove control characters'
        '--config.data.cleaning.invalid_utf8:drop pairs that are not UTF-8'
        '--config.data.cleaning.empty:drop pairs with an empty side'
        '--config.data.cleaning.max_characters:drop pairs with a side longer than this'
        '--config.data.cleaning.max_ratio:drop pairs with one side more than this many times as long as the other, in characters'
        '--config.data.cleaning.length_ratio:expected length of a target whose source has the length 1, for max_ratio'
        '--config.data.cleaning.identical:drop pairs with two equal sides, which are untranslated'
        '--config.data.cleaning.max_words:drop pairs with a side of more words than this'
        '--config.data.cleaning.max_word_ratio:drop pairs with one side more than this many times as long as the other, in words'
        '--config.data.cleaning.max_word_length:drop pairs with a word of more characters than this, except URLs and e-mail addresses'
        '--config.data.cleaning.max_mean_word:drop pairs with a side whose words have more characters than this on average'
        '--config.data.cleaning.html_tags:drop pairs with tags of HTML or XML'
        '--config.data.cleaning.links:drop pairs with different numbers of URLs and e-mail addresses on the two sides'
        '--config.data.cleaning.max_links:drop pairs with a larger share of characters in URLs and e-mail addresses on a side'
        '--config.data.cleaning.min_digits:drop pairs with a smaller share of digits that both sides have in common, without zeros and in any order'
        '--config.data.cleaning.max_end_difference:drop pairs whose sides differ by more than this in the number of marks at ends of sentences ('
        '--config.data.cleaning.min_letters:drop pairs with a smaller share of letters on a side, of all characters except spaces'
        '--config.data.cleaning.min_script:drop pairs with a smaller share of letters in the script of the language on a side'
        '--config.data.cleaning.max_similarity:drop pairs with a larger share of character trigrams that both sides have in common, such as copies with small changes'
        '--config.data.cleaning.max_repetitions:drop pairs with a side in which a text of 3 to 100 characters occurs more than this many times in a row'
        '--config.data.cleaning.max_added_repetitions:drop pairs with a target in which a text occurs more than this many times in a row, unless its source repeats one as well'
        '--config.data.cleaning.other_language:drop pairs with a side in a different language than expected, which CLD2 identifies (`pip install "t2t-keras[identify]"`)'
        '--config.data.cleaning.duplicates:drop pairs that occurred earlier in the corpus'
        '--config.data.cleaning.rules:further rules, which a plug-in file added to `RULES`, each "NAME" or "NAME=VALUE"'
        '--config.data.vocabulary.kind:"bpe" (SentencePiece'\''s byte pairs) or "word_pieces"'
        '--config.data.vocabulary.size:number of pieces, including ids 0 to 3'
        '--config.data.vocabulary.sample_pairs:maximum number of sentence pairs to learn from, drawn at random'
        '--config.data.vocabulary.seed:random seed for that draw'
        '--config.data.vocabulary.character_coverage:share of all characters in the text that get a piece of their own'
        '--config.data.vocabulary.byte_fallback:whether byte pairs include 256 pieces for bytes, which can encode every character, seen or not'
        '--config.data.vocabulary.symbols:words that remain one piece when they stand between spaces, such as the brackets of a parse'
        '--config.data.vocabulary.tags:pieces that no text contains, for the beginning of sources, such as "<2de>"'
        '--config.data.encodings.per_sentence:number of encodings of each sentence: one without dropout, all others with it'
        '--config.data.encodings.bpe_dropout:probability of leaving out a merge'
        '--config.data.encodings.seed:random seed for the merges that are left out'
        '--config.data.batches.tokens:maximum number of positions in a batch on each side, including padding'
        '--config.data.batches.buckets:maximum number of batch shapes'
        '--config.data.batches.max_length:maximum length of a sequence on either side, including the begin or end token'
        '--config.data.batches.too_long:treatment of pairs with a longer sequence: "drop" or "truncate"'
        '--config.data.batches.row_multiple:the number of rows is a multiple of this'
  )
  if [[ $PREFIX != *=* ]]; then
    _describe -o setting settings -S '='
    return
  fi
  local name=${PREFIX%%=*}
  compset -P '*='
  case $name in
    --config.model.positions) compadd alibi concatenated hugging_face learned none sinusoidal t5 ;;
    --config.model.attention) compadd additive scaled unscaled ;;
    --config.model.residual) compadd True False ;;
    --config.model.layer_norm) compadd True False ;;
    --config.model.tie_output) compadd True False ;;
    --config.model.source_end) compadd True False ;;
    --config.model.activation) compadd relu swish gelu gelu_tanh gelu_sigmoid celu elu exponential hard_shrink hard_sigmoid hard_silu hard_swish hard_tanh leaky_relu linear log_sigmoid log_softmax mish relu6 selu sigmoid silu soft_shrink softmax softplus softsign sparse_plus sparse_sigmoid sparsemax squareplus tanh tanh_shrink ;;
    --config.model.attention_bias) compadd True False ;;
    --config.model.output_bias) compadd True False ;;
    --config.model.pre_norm) compadd True False ;;
    --config.model.block) compadd transformer ;;
    --config.model.fast_forward) compadd True False ;;
    --config.training.loss) compadd label_smoothed_cross_entropy ;;
    --config.training.optimizer) compadd adafactor adam adamw lion muon ;;
    --config.training.schedule) compadd constant inverse_sqrt linear paper ;;
    --config.training.precision) compadd float32 mixed_bfloat16 ;;
    --config.training.tf32) compadd True False ;;
    --config.training.xla) compadd auto on off ;;
    --config.training.communication) compadd auto nccl ring ;;
    --config.training.average) compadd unless_worse always ;;
    --config.search.method) compadd beam sample ;;
    --config.search.penalty) compadd gnmt marian ;;
    --config.search.stopping) compadd exact first patience ;;
    --config.search.constrain) compadd tree ;;
    --config.data.cleaning.nfc) compadd True False ;;
    --config.data.cleaning.control_characters) compadd True False ;;
    --config.data.cleaning.invalid_utf8) compadd True False ;;
    --config.data.cleaning.empty) compadd True False ;;
    --config.data.cleaning.identical) compadd True False ;;
    --config.data.cleaning.html_tags) compadd True False ;;
    --config.data.cleaning.links) compadd True False ;;
    --config.data.cleaning.other_language) compadd True False ;;
    --config.data.cleaning.duplicates) compadd True False ;;
    --config.data.cleaning.rules) compadd duplicates empty html_tags identical invalid_utf8 links low_score max_added_repetitions max_characters max_end_difference max_links max_mean_word max_ratio max_repetitions max_similarity max_word_length max_word_ratio max_words min_digits min_letters min_script other_language ;;
    --config.data.vocabulary.kind) compadd bpe word_pieces ;;
    --config.data.vocabulary.byte_fallback) compadd True False ;;
    --config.data.batches.too_long) compadd drop truncate ;;
    *) _message value ;;
  esac
}

_t2t() {
  local -a common=(
        '-h[Show help]'
        '--help[Show help]'
        '--version[Show versions]'
        '--flagfile=[Read further flags from a file]:flagfile:_files'
        '--verbosity=[Show more messages]:verbosity:(-1 0 1)'
  )
  if [[ $PREFIX == --config.* ]]; then
    _t2t_settings
    return
  fi
  case $service in
    t2t-attention)
      _arguments $common \
        '--alpha=[Exponent α of the length penalty; 0 is no penalty]:alpha: ' \
        '--banned=[Tokens that an output must not contain]:banned: ' \
        '--beam=[Beam width; 1 is greedy search]:beam: ' \
        '--choose_alignment[Choose the layer and head that align words]' \
        '--constrain=[Constraint on the outputs of a parser: "tree" for trees over the words of their sentences, "" for none]:constrain:(tree)' \
        '--extra_length=[Maximum length of an output beyond its source, in tokens]:extra_length: ' \
        '--first=[Tokens that an output may begin with; empty: all]:first: ' \
        '--gold=[File with the word alignments of --source and --target]:gold:_files' \
        '--method=[Search method: beam, sample, or a name that a plug-in file adds to METHODS (--imports, or a file of the run)]:method:_files' \
        '--no_repeat_ngram=[Length in tokens of n-grams that an output may contain only once; 0: no constraint]:no_repeat_ngram: ' \
        '--output=[Output folder]:output:_files -/' \
        '--penalty=[Length penalty by which log P is divided: "gnmt", ((5 + length) / 6)^α, as in the paper; or "marian", length^α, as in Marian, Hugging Face and CTranslate2]:penalty:(gnmt marian)' \
        '--pieces[Show sub-words instead of words]' \
        '--sample[Sample tokens at random instead of searching]' \
        '--seed=[Random seed for sampling]:seed: ' \
        '--source=[Text file with source sentences for --choose_alignment]:source:_files' \
        '--stopping=[When a beam search stops: "exact", when no other hypothesis can become one of the `n_best` best; "first", when no live hypothesis would be one of them if it ended now; "patience", when `beam` hypotheses have ended, as in CTranslate2 and fairseq]:stopping:(exact first patience)' \
        '--target=[Text file with the translations of --source]:target:_files' \
        '--temperature=[Divisor of the logits in sampling; below 1 favors likely tokens]:temperature: ' \
        '--to=[Tag before each source, such as the target language: de means <2de>]:to: ' \
        '--top_k=[Number of most likely tokens that sampling draws from; 0: all]:top_k: ' \
        '--top_p=[Minimum total probability of the tokens that sampling draws from: as few as possible, the most likely ones; 1: all]:top_p: ' \
        '--translation=[Target text to show]:translation: ' \
        '--trust[Execute the plug-in files of the given runs, which are Python code]' \
        '--weights=[Weights to use: averaged, best, newest, or the step of a checkpoint]:weights: ' \
        '*:argument:_files -/' ;;
    t2t-average)
      _arguments $common \
        '--export[Export the new weights for LiteRT, which translates on CPUs, and in the other formats in which the run'\''s folder has exports]' \
        '--noexport[Export the new weights for LiteRT, which translates on CPUs, and in the other formats in which the run'\''s folder has exports]' \
        '--imports=[Comma-separated Python files that add entries to the tables of this package, such as models, search methods or metrics, in addition to the files of --config or the run]:imports:_files' \
        '--last=[Number of last checkpoints to average]:last: ' \
        '--trust[Execute the plug-in files of the given runs, which are Python code]' \
        '*:argument:_files -/' ;;
    t2t-benchmark)
      _arguments $common \
        '--config=[Name of a shipped config or path of a Python file, followed by :VARIANT if it has variants]:config:_t2t_configs' \
        '--connections=[serve: simultaneous connections]:connections: ' \
        '--data=[data: folder written by t2t-prepare, or a mix]:data:_files -/' \
        '--engines=[decode: engines that take turns, with the type of their weights if it is not float32, such as tensorflow,litert,litert:int8,ctranslate2:int8]:engines: ' \
        '--imports=[Comma-separated Python files that add entries to the tables of this package, such as models, search methods or metrics, in addition to the files of --config or the run]:imports:_files' \
        '--input=[decode: text file for --run, one sentence per line]:input:_files' \
        '--length=[train: tokens per sentence]:length: ' \
        '--lines=[decode: maximum number of lines of --input]:lines: ' \
        '--minutes=[gpu: time limit of all parts together]:minutes: ' \
        '--part=[gpu: PART:FILE, measured in this process]:part:_files' \
        '--parts=[gpu: parts to measure, such as digits,base,searches]:parts: ' \
        '--requests=[serve: total number of requests]:requests: ' \
        '--results=[gpu: JSON file to which the rows are written]:results:_files' \
        '--rounds=[train, decode, data: timed calls of each measurement; medians are printed]:rounds: ' \
        '--rows=[train: sentence pairs per batch]:rows: ' \
        '--run=[decode: run that translates --input]:run:_files -/' \
        '--steps=[data: batches per round]:steps: ' \
        '--texts=[serve: file with one text per line; the first 100 are sent]:texts:_files' \
        '--trust[Execute the plug-in files of the given runs, which are Python code]' \
        '--url=[serve: address of the model, http://HOST:PORT/v1/models/NAME]:url: ' \
        '*:argument:(train decode data serve gpu)' ;;
    t2t-compare)
      _arguments $common \
        '--baseline=[Run whose row is compared with every other row]:baseline:_files -/' \
        '--output=[Output folder]:output:_files -/' \
        '--reference=[Text file with the reference translations of --source]:reference:_files' \
        '--source=[Text file with the test set'\''s source sentences]:source:_files' \
        '--to=[Tag before each source, such as the target language: de means <2de>]:to: ' \
        '--trust[Execute the plug-in files of the given runs, which are Python code]' \
        '*:argument:_files -/' ;;
    t2t-completion)
      _arguments $common \
        '*:argument:(bash zsh)' ;;
    t2t-distill)
      _arguments $common \
        '--apache_beam[Translate as an Apache Beam pipeline; needs an export]' \
        '--beam=[Beam width of the teacher]:beam: ' \
        '--beam_options=[Pipeline options for --apache_beam]:beam_options: ' \
        '--choose=[Translation to learn from: the teacher'\''s best one, or the one of --n_best that is closest to the reference]:choose:(best reference)' \
        '--config=[Name of a shipped config or path of a Python file, followed by :VARIANT if it has variants]:config:_t2t_configs' \
        '--data=[Folder written by t2t-prepare, whose sources are translated]:data:_files -/' \
        '--dev_source=[File with held-out source text, evaluated during training]:dev_source:_files' \
        '--dev_target=[File with the translations of --dev_source]:dev_target:_files' \
        '--dtype=[Type of the teacher'\''s weights in its export, as in t2t-translate]:dtype:(float32 bfloat16 float16 int8)' \
        '--engine=[What computes the translations, as in t2t-translate]:engine:(auto litert tensorflow ctranslate2)' \
        '--imports=[Comma-separated Python files that add entries to the tables of this package, such as models, search methods or metrics, in addition to the files of --config or the run]:imports:_files' \
        '--keep=[Share of the translations to keep, the best ones for --reverse]:keep: ' \
        '--mono=[Further source text to translate: a file, a glob, or several separated by commas; compressed or not]:mono:_files' \
        '--n_best=[Number of translations that --choose=reference chooses from]:n_best: ' \
        '--ratio=[How many times as long or as short as expected a translation may be; 0: any length]:ratio: ' \
        '--real=[Share of the real pairs of --data in the training, such as 0.2; 0: none]:real: ' \
        '--repetitions=[How many times in a row a translation may contain a phrase, unless its source repeats one as well; 0: any number]:repetitions: ' \
        '--reverse=[Run or export for the other direction, by which bad translations are found]:reverse:_files -/' \
        '--run=[Folder of the student'\''s run, new or to resume]:run:_files -/' \
        '--test=[Test set on which teacher and student are compared, NAME=SOURCE,TARGET]:test: ' \
        '--texts=[Folder for translations and prepared data, which several students may share]:texts:_files -/' \
        '--to=[Tag before each source, for teachers of several languages]:to: ' \
        '--trust[Execute the plug-in files of the given runs, which are Python code]' \
        '--vocabulary=[Vocabulary of the student: the teacher'\''s, the one of --data, or the size of a new one, such as 8000]:vocabulary: ' \
        '*:argument:_files -/' ;;
    t2t-evaluate)
      _arguments $common \
        '--against=[File with a second system'\''s translations, compared by paired bootstrap]:against:_files' \
        '--alpha=[Exponent α of the length penalty; 0 is no penalty]:alpha: ' \
        '--banned=[Tokens that an output must not contain]:banned: ' \
        '--beam=[Beam width; 1 is greedy search]:beam: ' \
        '--column=[Texts that a metric needs, NAME=FILE, line by line]:column:_files' \
        '--comet_model=[Path of the checkpoint of a COMET model, for the metric comet]:comet_model: ' \
        '--constrain=[Constraint on the outputs of a parser: "tree" for trees over the words of their sentences, "" for none]:constrain:(tree)' \
        '--dtype=[Type of the weights in the export, for --engine=litert (float32, int8) and ctranslate2]:dtype:(float32 bfloat16 float16 int8)' \
        '--engine=[What computes]:engine:(auto litert tensorflow ctranslate2)' \
        '--extra_length=[Maximum length of an output beyond its source, in tokens]:extra_length: ' \
        '--first=[Tokens that an output may begin with; empty: all]:first: ' \
        '--hypotheses=[File with translations to score, one per line]:hypotheses:_files' \
        '--imports=[Comma-separated Python files that add entries to the tables of this package, such as models, search methods or metrics, in addition to the files of --config or the run]:imports:_files' \
        '--json[Print the scores as a JSON object]' \
        '--lowercase[Ignore case in BLEU and chrF; sacreBLEU'\''s TER always does]' \
        '--mbr=[Number of candidates for minimum Bayes risk; 0: off]:mbr: ' \
        '--mbr_metric=[Name of the metric that is the utility of `mbr`]:mbr_metric: ' \
        '--method=[Search method: beam, sample, or a name that a plug-in file adds to METHODS (--imports, or a file of the run)]:method:_files' \
        '--metrics=[Metrics, separated by commas: bleu, chrf, chrf++, ter, comet; and metrics of plug-in files]:metrics:_files' \
        '--no_repeat_ngram=[Length in tokens of n-grams that an output may contain only once; 0: no constraint]:no_repeat_ngram: ' \
        '--output=[File for a run'\''s translations or parses]:output:_files' \
        '--paper_bleu=[Language of the references, such as de, to add the paper'\''s BLEU]:paper_bleu: ' \
        '--parses=[File with parses to score, one tree per line; an empty line is a missing parse]:parses:_files' \
        '--penalty=[Length penalty by which log P is divided: "gnmt", ((5 + length) / 6)^α, as in the paper; or "marian", length^α, as in Marian, Hugging Face and CTranslate2]:penalty:(gnmt marian)' \
        '--reference=[Files with reference translations, one per line]:reference:_files' \
        '--sample[Sample tokens at random instead of searching]' \
        '--seed=[Random seed for sampling]:seed: ' \
        '--source=[Text file with the sentences that a run translates]:source:_files' \
        '--stopping=[When a beam search stops: "exact", when no other hypothesis can become one of the `n_best` best; "first", when no live hypothesis would be one of them if it ended now; "patience", when `beam` hypotheses have ended, as in CTranslate2 and fairseq]:stopping:(exact first patience)' \
        '--temperature=[Divisor of the logits in sampling; below 1 favors likely tokens]:temperature: ' \
        '--to=[Tag before each source, such as the target language: de means <2de>]:to: ' \
        '--tokenize=[sacreBLEU'\''s tokenizer for BLEU]:tokenize:(13a intl char none zh ja-mecab ko-mecab)' \
        '--top_k=[Number of most likely tokens that sampling draws from; 0: all]:top_k: ' \
        '--top_p=[Minimum total probability of the tokens that sampling draws from: as few as possible, the most likely ones; 1: all]:top_p: ' \
        '--treebank=[Files with gold trees: a path, a glob, or several with commas]:treebank:_files' \
        '--trust[Execute the plug-in files of the given runs, which are Python code]' \
        '--weights=[Weights to use: averaged, best, newest, or the step of a checkpoint]:weights: ' \
        '*:argument:_files -/' ;;
    t2t-export)
      _arguments $common \
        '--alpha=[Exponent α of the length penalty; 0 is no penalty]:alpha: ' \
        '--banned=[Tokens that an output must not contain]:banned: ' \
        '--beam=[Beam width; 1 is greedy search]:beam: ' \
        '--constrain=[Constraint on the outputs of a parser: "tree" for trees over the words of their sentences, "" for none]:constrain:(tree)' \
        '--dtype=[Type of the stored weights]:dtype:(float32 int8 bfloat16 float16)' \
        '--extra_length=[Maximum length of an output beyond its source, in tokens]:extra_length: ' \
        '--first=[Tokens that an output may begin with; empty: all]:first: ' \
        '--format=[Output format: litert: model for LiteRT, which translates on CPUs; portable: portable file with the search, which programs open with LiteRT; ctranslate2: model for CTranslate2; saved_model: SavedModel with text in and text out; ids: SavedModel with ids in and ids out, which TensorFlow Serving serves; keras: Keras model, which load_model of Keras opens after `import t2t_keras.experiment`; argos: package for Argos Translate, which opens it; hub: folder for the Hugging Face Hub]:format:(litert portable ctranslate2 saved_model ids keras argos hub)' \
        '--imports=[Comma-separated Python files that add entries to the tables of this package, such as models, search methods or metrics, in addition to the files of --config or the run]:imports:_files' \
        '--languages=[Source and target language, such as en,de, for the record]:languages: ' \
        '--license=[With --format=hub: license for the model card, such as apache-2.0]:license: ' \
        '--method=[Search method: beam, sample, or a name that a plug-in file adds to METHODS (--imports, or a file of the run)]:method:_files' \
        '--n_best=[Translations per text in translate_n_best, as served]:n_best: ' \
        '--no_repeat_ngram=[Length in tokens of n-grams that an output may contain only once; 0: no constraint]:no_repeat_ngram: ' \
        '--output=[Folder to write, or .keras or .argosmodel file]:output:_files -/' \
        '--penalty=[Length penalty by which log P is divided: "gnmt", ((5 + length) / 6)^α, as in the paper; or "marian", length^α, as in Marian, Hugging Face and CTranslate2]:penalty:(gnmt marian)' \
        '--renew[Write again, each with its own options, all exports in the run'\''s folder that do not have the run'\''s present weights or settings]' \
        '--sample[Sample tokens at random instead of searching]' \
        '--seed=[Random seed for sampling]:seed: ' \
        '--stopping=[When a beam search stops: "exact", when no other hypothesis can become one of the `n_best` best; "first", when no live hypothesis would be one of them if it ended now; "patience", when `beam` hypotheses have ended, as in CTranslate2 and fairseq]:stopping:(exact first patience)' \
        '--temperature=[Divisor of the logits in sampling; below 1 favors likely tokens]:temperature: ' \
        '--to=[Tag before each source, such as the target language: de means <2de>]:to: ' \
        '--top_k=[Number of most likely tokens that sampling draws from; 0: all]:top_k: ' \
        '--top_p=[Minimum total probability of the tokens that sampling draws from: as few as possible, the most likely ones; 1: all]:top_p: ' \
        '--trust[Execute the plug-in files of the given runs, which are Python code]' \
        '--weights=[Weights to use: averaged, best, newest, or the step of a checkpoint]:weights: ' \
        '*:argument:_files -/' ;;
    t2t-import)
      _arguments $common \
        '--export[Export the new weights for LiteRT, which translates on CPUs, and in the other formats in which the run'\''s folder has exports]' \
        '--noexport[Export the new weights for LiteRT, which translates on CPUs, and in the other formats in which the run'\''s folder has exports]' \
        '--format=[Format of the model, such as ctranslate2]:format: ' \
        '--languages=[Source and target language, such as en,de]:languages: ' \
        '--num_heads=[Number of heads of a model of OpenNMT-tf]:num_heads: ' \
        '--run=[Folder of the new run]:run:_files -/' \
        '--source_begin[Whether a model of OpenNMT-tf or CTranslate2 was trained with <s> before the source]' \
        '--nosource_begin[Whether a model of OpenNMT-tf or CTranslate2 was trained with <s> before the source]' \
        '--source_end[Whether a model of OpenNMT-tf or CTranslate2 was trained with an end after the source]' \
        '--nosource_end[Whether a model of OpenNMT-tf or CTranslate2 was trained with an end after the source]' \
        '--target_space=[Kind of text that a model of tensor2tensor writes, by its number there]:target_space: ' \
        '--trust[Execute the plug-in files of the given runs, which are Python code]' \
        '*:argument:_files' ;;
    t2t-parameters)
      _arguments $common \
        '--config=[Name of a shipped config or path of a Python file, followed by :VARIANT if it has variants]:config:_t2t_configs' \
        '--diagram=[PNG file for a diagram of the model of --config, like the paper'\''s Figures 1 and 2]:diagram:_files' \
        '--imports=[Comma-separated Python files that add entries to the tables of this package, such as models, search methods or metrics, in addition to the files of --config or the run]:imports:_files' ;;
    t2t-prepare)
      _arguments $common \
        '--beam[Run as an Apache Beam pipeline; needs pip install '\''t2t-keras(beam)'\'']' \
        '--beam_options=[Comma-separated pipeline options for --beam, such as --runner=NAME]:beam_options: ' \
        '--best=[Share of the pairs to keep, those with the highest --scores, such as 0.8]:best: ' \
        '--column=[Values beside the pairs, NAME=FILE, line by line: weights, a number for each pair; alignments, links of words such as 0-0 1-2; or a column of a plug-in file]:column:_files' \
        '--config=[Name of a shipped config or path of a Python file, followed by :VARIANT if it has variants]:config:_t2t_configs' \
        '--data_dir=[Folder of prepared TensorFlow Datasets]:data_dir:_files -/' \
        '--imports=[Comma-separated Python files that add entries to the tables of this package, such as models, search methods or metrics, in addition to the files of --config or the run]:imports:_files' \
        '--languages=[Codes of source and target language, such as en,de, for the record; with --tfds, the features of the data set]:languages: ' \
        '--leaves=[Symbol for each word among the brackets of --treebank]:leaves:(tag XX word)' \
        '--min_score=[Minimum score of a pair in --scores]:min_score: ' \
        '--output=[Output folder, new or to resume]:output:_files -/' \
        '--pairs=[File of pairs: source, tab, target]:pairs:_files' \
        '--rules=[Cleaning rules of a plug-in file to turn on, each NAME or NAME=VALUE, separated by commas]:rules:_files' \
        '--scores=[File of scores, one line per pair, as t2t-score --reverse writes it; larger is better]:scores:_files' \
        '--shortest=[Length of the shortest of the --toy_documents, in words]:shortest: ' \
        '--source=[Source text: a file, a glob, or a comma-separated list of files]:source:_files' \
        '--split=[Split of the --tfds data set or, train or test, of --toy_documents]:split: ' \
        '--strict[Add the cleaning rules for noisy text, except those that --config.data.cleaning.RULE=VALUE sets]' \
        '--tag=[Tag before every source, such as <2de>, so that one model translates into several languages]:tag: ' \
        '--target=[Target text: files with the translation of --source, line by line]:target:_files' \
        '--tfds=[Name of a TensorFlow Datasets data set, or the folder of a prepared one]:tfds:_files -/' \
        '--toy_documents=[Number of documents of the toy grammar]:toy_documents: ' \
        '--treebank=[Files of bracketed trees, converted to pairs of words and brackets]:treebank:_files' \
        '--vocabulary=[Folder of an existing vocabulary to use]:vocabulary:_files -/' \
        '--words=[Length of the longest of the --toy_documents, in words]:words: ' ;;
    t2t-report)
      _arguments $common \
        '--alpha=[Exponent α of the length penalty; 0 is no penalty]:alpha: ' \
        '--banned=[Tokens that an output must not contain]:banned: ' \
        '--beam=[Beam width; 1 is greedy search]:beam: ' \
        '--constrain=[Constraint on the outputs of a parser: "tree" for trees over the words of their sentences, "" for none]:constrain:(tree)' \
        '--examples=[Number of translations in each group: best, middle and worst]:examples: ' \
        '--extra_length=[Maximum length of an output beyond its source, in tokens]:extra_length: ' \
        '--first=[Tokens that an output may begin with; empty: all]:first: ' \
        '--limit=[Maximum number of test set lines to translate]:limit: ' \
        '--method=[Search method: beam, sample, or a name that a plug-in file adds to METHODS (--imports, or a file of the run)]:method:_files' \
        '--no_repeat_ngram=[Length in tokens of n-grams that an output may contain only once; 0: no constraint]:no_repeat_ngram: ' \
        '--output=[Page to write]:output: ' \
        '--penalty=[Length penalty by which log P is divided: "gnmt", ((5 + length) / 6)^α, as in the paper; or "marian", length^α, as in Marian, Hugging Face and CTranslate2]:penalty:(gnmt marian)' \
        '--reference=[Text file with the reference translations of --source]:reference:_files' \
        '--sample[Sample tokens at random instead of searching]' \
        '--seed=[Random seed for sampling]:seed: ' \
        '--source=[Text file with the test set'\''s source sentences]:source:_files' \
        '--stopping=[When a beam search stops: "exact", when no other hypothesis can become one of the `n_best` best; "first", when no live hypothesis would be one of them if it ended now; "patience", when `beam` hypotheses have ended, as in CTranslate2 and fairseq]:stopping:(exact first patience)' \
        '--temperature=[Divisor of the logits in sampling; below 1 favors likely tokens]:temperature: ' \
        '--to=[Tag before each source, such as the target language: de means <2de>]:to: ' \
        '--top_k=[Number of most likely tokens that sampling draws from; 0: all]:top_k: ' \
        '--top_p=[Minimum total probability of the tokens that sampling draws from: as few as possible, the most likely ones; 1: all]:top_p: ' \
        '--trust[Execute the plug-in files of the given runs, which are Python code]' \
        '--weights=[Weights to use: averaged, best, newest, or the step of a checkpoint]:weights: ' \
        '*:argument:_files -/' ;;
    t2t-reproduce)
      _arguments $common \
        '--automatic=[table4: files of automatically parsed trees to mix with --train]:automatic:_files' \
        '--config=[Name of a shipped config or path of a Python file, followed by :VARIANT if it has variants]:config:_t2t_configs' \
        '--d_model=[table1: width d of the layers]:d_model: ' \
        '--data=[table2, table3: folder written by t2t-prepare, to train on instead of --source]:data:_files -/' \
        '--data_dir=[table2, table3: folder of prepared TensorFlow data sets]:data_dir:_files -/' \
        '*--dev=[table4: files of gold trees to score; section 22 in the paper]:dev:_files' \
        '--dev_source=[table2, table3: file with held-out source text, evaluated during training in table2, scored in table3]:dev_source:_files' \
        '--dev_target=[table2, table3: file with the translations of --dev_source]:dev_target:_files' \
        '--divide=[table2, table3, table4: divisor of all widths of the models]:divide: ' \
        '--divide_layers=[table2, table3, table4: divisor of the number of layers]:divide_layers: ' \
        '--evaluate_only[table2: score the runs in --output as they are; train nothing]' \
        '--first=[table4: config to train with first, such as one for short sentences]:first: ' \
        '--heads=[table1: heads h of both attention layers]:heads: ' \
        '--imports=[Comma-separated Python files that add entries to the tables of this package, such as models, search methods or metrics, in addition to the files of --config or the run]:imports:_files' \
        '--kernel=[table1: kernel width k of the convolutions]:kernel: ' \
        '--language=[table3: target language, for the paper'\''s BLEU and for --tfds]:language: ' \
        '--layers=[table2: numbers of layers to choose from by short training, one entry for each row: 2/4, or 3+2/4+3 with other numbers in the decoder]:layers: ' \
        '--learning_rates=[table2: learning rates to choose from by short training, for example 1e-3,3e-3]:learning_rates: ' \
        '--leaves=[table4: symbol for a word among the brackets: XX, tag or word]:leaves:(tag XX word)' \
        '--lengths=[table1: sequence lengths n]:lengths: ' \
        '--neighbourhood=[table1: neighbourhood r of restricted self-attention]:neighbourhood: ' \
        '--operations=[table2: floating-point operations to train each row for, instead of --steps, so that the rows cost the same]:operations: ' \
        '--output=[All tables: folder for all files]:output:_files -/' \
        '--ratio=[table4: automatic trees per gold tree]:ratio: ' \
        '--reduced=[table2, table3, table4: config with settings for less data or less time]:reduced: ' \
        '--rounds=[table1: timed calls for each layer and length]:rounds: ' \
        '--rows=[table2, table3, claims: names of the rows or experiments]:rows: ' \
        '--run=[table2, table4: existing run to score; nothing is trained]:run:_files -/' \
        '--seeds=[table2, table3: number of trainings of each row, each with a different seed]:seeds: ' \
        '--source=[table2, table3: source text to train on: a file, a glob, or several separated by commas]:source:_files' \
        '--steps=[table2, table3, table4, claims: training steps; the warm-up shrinks in proportion]:steps: ' \
        '--target=[table2, table3: files with the translations of --source]:target:_files' \
        '--test=[table4: files of gold trees to score; section 23 in the paper]:test:_files' \
        '--test_source=[table2: source files of the test sets, one per test set]:test_source:_files' \
        '--test_target=[table2: translations of the files of --test_source]:test_target:_files' \
        '--tfds=[table2, table3: name or folder of a TensorFlow data set to train on instead of --source]:tfds:_files -/' \
        '--train=[table4: files of trees to train on, or that --run was trained on: a glob, or several separated by commas]:train:_files' \
        '*:argument:(table1 table2 table3 table4 claims)' ;;
    t2t-score)
      _arguments $common \
        '--dtype=[Type of the weights in the export, for --engine=litert (float32, int8) and ctranslate2]:dtype:(float32 bfloat16 float16 int8)' \
        '--engine=[What computes]:engine:(auto litert tensorflow ctranslate2)' \
        '--imports=[Comma-separated Python files that add entries to the tables of this package, such as models, search methods or metrics, in addition to the files of --config or the run]:imports:_files' \
        '--json[Write a JSON object per pair]' \
        '--lines=[Number of pairs that are sorted and batched by length together]:lines: ' \
        '--output=[File to write]:output:_files' \
        '--pairs=[File of pairs: source, tab, target]:pairs:_files' \
        '--pieces[Include log P of each piece; needs --json]' \
        '--reverse=[Run or export for the other direction, to score pairs by both; several with commas are an ensemble]:reverse:_files -/' \
        '--reverse_to=[Tag before each target, for --reverse]:reverse_to: ' \
        '--source=[Text file with the source sentences, one per line]:source:_files' \
        '--target=[Text file with the translations of --source]:target:_files' \
        '--to=[Tag before each source, such as the target language: de means <2de>]:to: ' \
        '--trust[Execute the plug-in files of the given runs, which are Python code]' \
        '--weights=[Weights to use: averaged, best, newest, or the step of a checkpoint]:weights: ' \
        '*:argument:_files -/' ;;
    t2t-serve)
      _arguments $common \
        '--access_log=[File to which a line per request is appended, in the combined format of Apache and nginx, then the seconds it took, without texts and keys; -: standard output]:access_log:_files' \
        '--allowed_hosts=[Host names under which the server may be addressed, separated by commas, besides localhost, IP addresses and --host]:allowed_hosts: ' \
        '--allowed_origins=[Other sites whose web pages may use the server, such as https://example.com, separated by commas; *: all sites]:allowed_origins: ' \
        '--api_key_file=[Text file with an API key per line; lines that begin with # are ignored]:api_key_file:_files' \
        '--batch_wait_ms=[Time that a batch waits for more texts, in milliseconds]:batch_wait_ms: ' \
        '--client_timeout_seconds=[Time in seconds that a client may take to send a request, to begin the next one on the same connection, or to read a part of its answer]:client_timeout_seconds: ' \
        '--draft=[Run or export of a small model with the same vocabulary]:draft:_files -/' \
        '--dtype=[Type of the weights in the export, for --engine=litert (float32, int8) and ctranslate2]:dtype:(float32 bfloat16 float16 int8)' \
        '--engine=[What computes]:engine:(auto litert tensorflow ctranslate2)' \
        '--glossary=[Glossary for requests without one of their own, a file as in t2t-translate: FILE, or with several models NAME=FILE,NAME=FILE]:glossary:_files' \
        '--grace_seconds=[Time to finish the requests in flight when the server stops, in seconds]:grace_seconds: ' \
        '--host=[Address to listen on; 0.0.0.0: all]:host: ' \
        '--max_batch_rows=[Maximum number of texts in a batch]:max_batch_rows: ' \
        '--max_body_bytes=[Maximum size of a request in bytes; larger ones get HTTP 413]:max_body_bytes: ' \
        '--max_connections=[Maximum number of open connections]:max_connections: ' \
        '--max_file_bytes=[Maximum size of a document in bytes; larger ones get HTTP 413]:max_file_bytes: ' \
        '--max_memory_mb=[Maximum memory for requests, results and answers that are not read yet, of all clients, in megabytes]:max_memory_mb: ' \
        '--max_rows_in_flight=[Maximum number of texts in flight, twice the maximum of a request; further requests get HTTP 429]:max_rows_in_flight: ' \
        '--max_segments=[Maximum number of segments of a document, such as paragraphs; beyond it, HTTP 413]:max_segments: ' \
        '--max_text_bytes=[Maximum size of a sentence in bytes, or of a text that is not divided into sentences; requests with a larger one get HTTP 413]:max_text_bytes: ' \
        '--name=[Name of the model, if there is one]:name: ' \
        '--port=[Port to listen on; 0 chooses a free one]:port: ' \
        '--split=[auto: translate each sentence of a text by itself; off: each text as one sentence]:split:(auto off)' \
        '--trust[Execute the plug-in files of the given runs, which are Python code]' \
        '--workers=[Number of batches computed at the same time]:workers: ' \
        '*:argument:_files -/' ;;
    t2t-train)
      _arguments $common \
        '--config=[Name of a shipped config or path of a Python file, followed by :VARIANT if it has variants]:config:_t2t_configs' \
        '--data=[Folder written by t2t-prepare, or a mix of several with the shares of their sentence pairs: general:1,mine:4]:data:_files -/' \
        '*--dev=[Held-out set with a name, NAME=SOURCE,TARGET, in place of --dev_source and --dev_target]:dev: ' \
        '--dev_source=[Text file with the sources of the held-out pairs, one per line]:dev_source:_files' \
        '--dev_target=[Text file with the reference translations of --dev_source]:dev_target:_files' \
        '--export[Write a SavedModel and a model for LiteRT when training ends]' \
        '--noexport[Write a SavedModel and a model for LiteRT when training ends]' \
        '--freeze=[Comma-separated layers that are not trained, such as encoder,embedding]:freeze: ' \
        '--imports=[Comma-separated Python files that add entries to the tables of this package, such as models, search methods or metrics, in addition to the files of --config or the run]:imports:_files' \
        '--init=[Run whose weights the training starts from]:init:_files -/' \
        '--run=[Folder of the run, new or to resume]:run:_files -/' \
        '--seeds=[Number of random seeds with which each run of --sweep is trained]:seeds: ' \
        '--show[Print all settings, with values, defaults and meanings, instead of training]' \
        '--sweep=[Setting with several values, SETTING=VALUE,VALUE]:sweep: ' \
        '--tpu=[Name of a Cloud TPU, or '\''local'\'' on the TPU'\''s own machine]:tpu: ' \
        '--trust[Execute the plug-in files of the given runs, which are Python code]' ;;
    t2t-translate)
      _arguments $common \
        '--alignments[Word alignments of each translation, as pairs of word indices]' \
        '--alpha=[Exponent α of the length penalty; 0 is no penalty]:alpha: ' \
        '--apache_beam[Translate the files of --input to files of the same names in the folder --output as an Apache Beam pipeline; needs pip install '\''t2t-keras(beam)'\'']' \
        '--banned=[Tokens that an output must not contain]:banned: ' \
        '--beam=[Beam width; 1 is greedy search]:beam: ' \
        '--beam_options=[Comma-separated pipeline options for --apache_beam, such as --runner=NAME]:beam_options: ' \
        '--column=[Column of a CSV or TSV document to translate: its name or number]:column: ' \
        '--comet_model=[Path of the checkpoint of a COMET model, for the metric comet]:comet_model: ' \
        '--confidence[Confidence of each word of a translation, from 0 to 1]' \
        '--constrain=[Constraint on the outputs of a parser: "tree" for trees over the words of their sentences, "" for none]:constrain:(tree)' \
        '--document=[Comma-separated documents to translate, or folders of them: Word, PowerPoint, Excel, OpenDocument, EPUB, HTML, Markdown, XLIFF, TMX, PO, JSON, subtitles, CSV, text]:document:_files -/' \
        '--draft=[Run or export of a small model with the same vocabulary]:draft:_files -/' \
        '--dtype=[Type of the weights in the export, for --engine=litert (float32, int8) and ctranslate2]:dtype:(float32 bfloat16 float16 int8)' \
        '--engine=[What computes]:engine:(auto litert tensorflow ctranslate2)' \
        '--extra_length=[Maximum length of an output beyond its source, in tokens]:extra_length: ' \
        '--final[Mark the translations in XLIFF and PO as final, not as in need of review]' \
        '--first=[Tokens that an output may begin with; empty: all]:first: ' \
        '--glossary=[Text file with a source phrase, a tab and a target phrase per line, or a CSV or TBX file]:glossary:_files' \
        '--imports=[Comma-separated Python files that add entries to the tables of this package, such as models, search methods or metrics, in addition to the files of --config or the run]:imports:_files' \
        '--input=[Text file to translate, or several with --apache_beam]:input:_files' \
        '--json[Write a JSON object per input line, with scores]' \
        '--lines=[Number of input lines that are sorted and batched by length together]:lines: ' \
        '--markup=[Kind of markup that is kept: tags, entities, placeholders such as {name} and %s, URLs and e-mail addresses]:markup:(html xml placeholders)' \
        '--mbr=[Number of candidates for minimum Bayes risk; 0: off]:mbr: ' \
        '--mbr_metric=[Name of the metric that is the utility of `mbr`]:mbr_metric: ' \
        '--method=[Search method: beam, sample, or a name that a plug-in file adds to METHODS (--imports, or a file of the run)]:method:_files' \
        '--n_best=[Translations per input line]:n_best: ' \
        '--no_repeat_ngram=[Length in tokens of n-grams that an output may contain only once; 0: no constraint]:no_repeat_ngram: ' \
        '--output=[File to write, or folder with --apache_beam]:output:_files' \
        '--penalty=[Length penalty by which log P is divided: "gnmt", ((5 + length) / 6)^α, as in the paper; or "marian", length^α, as in Marian, Hugging Face and CTranslate2]:penalty:(gnmt marian)' \
        '--prefix=[Text that every translation begins with]:prefix: ' \
        '--prefixes=[Text file with a prefix for the translation of each input line]:prefixes:_files' \
        '--require=[Text file with a line for each input line: phrases that its translation must contain, separated by tabs]:require:_files' \
        '--retranslate[Also translate the segments of a document that have a translation]' \
        '--sample[Sample tokens at random instead of searching]' \
        '--scores[Write each translation'\''s score and a tab before it]' \
        '--seed=[Random seed for sampling]:seed: ' \
        '--split=[Division into sentences: "auto" translates each sentence by itself and keeps the line breaks and spaces between sentences, "off" translates the text as one sentence]:split:(auto off)' \
        '--stopping=[When a beam search stops: "exact", when no other hypothesis can become one of the `n_best` best; "first", when no live hypothesis would be one of them if it ended now; "patience", when `beam` hypotheses have ended, as in CTranslate2 and fairseq]:stopping:(exact first patience)' \
        '--temperature=[Divisor of the logits in sampling; below 1 favors likely tokens]:temperature: ' \
        '--to=[Tag before each source, such as the target language: de means <2de>]:to: ' \
        '--top_k=[Number of most likely tokens that sampling draws from; 0: all]:top_k: ' \
        '--top_p=[Minimum total probability of the tokens that sampling draws from: as few as possible, the most likely ones; 1: all]:top_p: ' \
        '--trust[Execute the plug-in files of the given runs, which are Python code]' \
        '--weights=[Weights to use: averaged, best, newest, or the step of a checkpoint]:weights: ' \
        '*:argument:_files -/' ;;
  esac
}

_t2t "$@"
