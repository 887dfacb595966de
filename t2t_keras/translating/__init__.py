"""Translation of texts with an engine, which takes ids and returns hypotheses.

from t2t_keras.translating import load_translator

print(load_translator("runs/mine/export_litert").translate(["The dog sleeps."]))
"""

from t2t_keras.translating.exports import load_translator as load_translator
