"""The paper's claims as experiments: `reproduce(Plan("claims"))`."""

from t2t_keras.reproduction.claims.all_claims import reproduce

__all__ = ["reproduce"]
