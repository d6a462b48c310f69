"""A published known answer of RFC 9578's token type 2, byte for byte, and what blinding must hide."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from tacit import InputError
from tacit.pool.channel import tokens
from tacit.pool.channel.tokens import BlindSigner, VerifyingKey

P = (
    "ef730b0f514bc0f59d995fd5f9988c4c4c135d105cd56d43ee28a035c969f550c0cd7148ea87ecdeffb937c85c648744"
    "05df56eaeb478bf741884a200ee4a39633d10aa3ec404366da2b531f398d46fbc8f305752906cf78939dd2f3cc9798ae"
    "a7c9d82fef4049f198797e452a5b6d2849b86486345d4b31f69111a2ae0f944b"
)
Q = (
    "d924c9ebcb61316bfdc4abb3dba2cc403cc8989e4e4900f486cb6cf467b4d46feb8740effec4f33b9c2d2ec8b20c0fd9"
    "5a4cc1f09fab3bfcb6c6a043f5591829a181ff075e24fd19fa7eec1137ad88a3db5cf7e0022ed501eefb466b2dfe811c"
    "18b520b66f979df252227a0b5391e6b4874b83491c40b55b379f99326b643dbd"
)
KEY = (
    "30820152303d06092a864886f70d01010a3030a00d300b0609608648016503040202a11a301806092a864886f70d0101"
    "08300b0609608648016503040202a2030201300382010f003082010a0282010100cb1aed6b6a95f5b1ce013a4cfcab25"
    "b94b2e64a23034e4250a7eab43c0df3a8c12993af12b111908d4b471bec31d4b6c9ad9cdda90612a2ee903523e6de5a2"
    "24d6b02f09e5c374d0cfe01d8f529c500a78a2f67908fa682b5a2b430c81eaf1af72d7b5e794fc98a3139276879757ce"
    "453b526ef9bf6ceb99979b8423b90f4461a22af37aab0cf5733f7597abe44d31c732db68a181c6cbbe607d8c0e52e065"
    "5fd9996dc584eca0be87afbcd78a337d17b1dba9e828bbd81e291317144e7ff89f55619709b096cbb9ea474cead264c2"
    "073fe49740c01f00e109106066983d21e5f83f086e2e823c879cd43cef700d2a352a9babd612d03cad02db134b7e225a"
    "5f0203010001"
)
CHALLENGE = (
    "0002000e6973737565722e6578616d706c65208e7acc900e393381e8810b7c9e4a68b5163f1f880ab6688a6ffe780923"
    "609e88000e6f726967696e2e6578616d706c65"
)
NONCE = "f27bc78fd1d220e7aeeef65ec4105f2261b201462a9550876964a87bb0988626"
BLIND = (
    "a789e19278b8dcf75be6dd99580b290bbeadef6978319168cf4b56c371f41b1b570932ab03e7b9f516b0329482ea278c"
    "4b8bcd32d9a51ca2eb21d04a5bd8b819054bf7e4c8ca12a7b6340e7010d2312ca48dc1102526a2deeae5dffe14b3a1bb"
    "0fcab36fa55b6c7b3f01782760a05c8c4013be16f526ff30570ed17549d06557d5f15fe6c01876fd3865da2600f3f421"
    "fc1ce6d47940ea3ddf747cc4545eed2acbb729920767766748063db90862c2efb7afd842c0c282b16e787e7af9e88ee0"
    "e6d01ad6eece706d21a8e93a3c7edd428210df26f58d099c9ac654706c7bcb3cb870167ec7037f8870fc3f130cfa4765"
    "756118e36ecc58d17fc06c1078e202f0"
)
SALT = "80ebcf1aab292d22907af0f9f017b21e37c60b6a82f9109cc65bb9939cd55da6c25283d56dc20d39268f95eb824772e5"
REQUEST = (
    "00020840bfd39a6e2e65a5ae800dcc401c513c8ce0b8fc8b4657b5afcac76fa3036c07b80e103081a117a15188f668f9"
    "878bcfc682066e57e551e765cc6c67787dced19614f3e1e1a3c4ff5a0eb8afaba3f1ffeefd9b1e77c65087d3262f96e6"
    "92e664ee00c17ef83b88f35effab3f158994007fd63305235e70fa42ee2cec6aebb6f3a641c2ad0c528ad9bad33eb8b0"
    "24cb13da1f6f47dc6747845b0cc782a6e87bbbff1e187408a514246e178cc00fa75cfb710eee69f243411f47f92adbbd"
    "0197cc6e644fef8b2fff9310cfcd74d739c9b5e22f4a10391442f51efc18ab3b99e511a63d2c7bbee6d4596367b76299"
    "5de6d25bf37d30ee4caa6edb629daa2acef549"
)
RESPONSE = (
    "c8a0b1be5b0e2bce8534058bb10f9ddb5bb8e0040386e13d70e9fad9533f49646dd460147c0ea781f33454faeab8907a"
    "fe422ecf4b2aac5198a21d67ba9f7d9bd49856baf035ac504e941a3d979066df66c6e8d83b5d2b373c89ec8936c522f4"
    "f4dfd30178b489d579b3ccebd47a0e7bac6166d36d253b9b8ba9a11a222c197cf543b081652ee6ed76de74cd15c8431b"
    "acc9329031a410d96160c4f692f51fc51f2128a75303a1b0452e62b8e9e72e5ed14654586b8c1fd84947a67f1faf6d24"
    "ad7a509ebafea8f4fe0cc52b8dff828e39da9c92af2c00e5f6e964e650c1b4a1725489db5f35d0f19bd0713e5e36197a"
    "0cbb69a6428ba7c68662c88818574d31"
)
TOKEN = (
    "0002f27bc78fd1d220e7aeeef65ec4105f2261b201462a9550876964a87bb09886265969f643b4cfda5196d4aa86aeb5"
    "368834f4f06de46950ed435b3b81bd036d44ca572f8982a9ca248a3056186322d93ca147266121ddeb5632c07f1f71cd"
    "27082e44f7d091223f144ee5972196bdab0b5ef3cdf68905bab92a512bea318117fa5ded7daa0d5e8c740eac3f875a73"
    "b691c96bbd6149d0f2bb20302528136c342da33f333dd3e9f843ca0611d9b852465a6815561f9f3430dc889d74796828"
    "e3a213f32de1694a67bf538de3bb6509d97f1e0e96c45d1d4b39f6d1b66ece8f2e4f143dafd56de8348b20f7f1eed212"
    "f9751e7d1e2638477b39c1cec3b4770a1d8eab804c6455d391fa7948228442888b0794b520e8a54b468e3ea03153f43d"
    "e34331e7263fe068d9215d3597593042e02dc5daa7f4468bca77e97b0c6cf32f14b1a9e60c9e9325d19e7d2008ca3089"
    "95c701bb0e3cb56f4539f36dc2b3e44631bb"
)


def key(p: int, q: int) -> rsa.RSAPrivateKey:
    e = 65_537
    d = pow(e, -1, (p - 1) * (q - 1))
    public = rsa.RSAPublicNumbers(e, p * q)
    return rsa.RSAPrivateNumbers(p, q, d, d % (p - 1), d % (q - 1), pow(q, -1, p), public).private_key()


@pytest.fixture(scope="module")
def signer() -> BlindSigner:
    return BlindSigner(key(int(P, 16), int(Q, 16)))


def test_every_step_gives_the_known_answer(signer: BlindSigner) -> None:
    context = bytes.fromhex(CHALLENGE)[19:51]
    asked = tokens.challenge("issuer.example", "origin.example", context)
    assert (signer.public.to_bytes().hex(), asked.hex()) == (KEY, CHALLENGE)
    signed_of = tokens.token_input(signer.public, asked, bytes.fromhex(NONCE))
    pending = tokens.blinded_token(signer.public, signed_of, bytes.fromhex(SALT), int(BLIND, 16))
    assert pending.request.hex() == REQUEST
    response = tokens.sign_token(signer, pending.request)
    assert response.hex() == RESPONSE
    token = pending.finish(response)
    assert token.hex() == TOKEN
    assert tokens.token_holds(VerifyingKey.from_bytes(bytes.fromhex(KEY)), asked, token)


def test_a_token_is_good_for_its_challenge_and_key_alone(signer: BlindSigner) -> None:
    token = bytes.fromhex(TOKEN)
    asked = bytes.fromhex(CHALLENGE)
    other = BlindSigner()
    assert not tokens.token_holds(signer.public, tokens.challenge("issuer.example", "elsewhere"), token)
    assert not tokens.token_holds(other.public, asked, token)
    for at in (0, 3, 40, 70, 200):
        changed = bytearray(token)
        changed[at] ^= 1
        assert not tokens.token_holds(signer.public, asked, bytes(changed))
    assert not tokens.token_holds(signer.public, asked, b"")
    pending = tokens.new_token(signer.public, asked, bytes(32), b"a")
    other_request = tokens.new_token(signer.public, asked, bytes(32), b"b").request
    with pytest.raises(InputError, match="no signature of this key"):
        pending.finish(tokens.sign_token(signer, other_request))
    with pytest.raises(InputError, match="type 2 and for this key"):
        tokens.sign_token(signer, b"\x00\x01" + pending.request[2:])


def test_the_issuer_cannot_link_a_token_to_its_request(signer: BlindSigner) -> None:
    """With every factor it might guess, a request fits another person's token as well as its own."""
    asked = bytes.fromhex(CHALLENGE)
    public = signer.public
    pending = [tokens.new_token(public, asked, bytes(32), bytes([each])) for each in range(3)]
    finished = [each.finish(tokens.sign_token(signer, each.request)) for each in pending]
    assert len({each.inverse for each in pending}) == 3
    for each, token in zip(pending, finished, strict=True):
        encoded = pow(int.from_bytes(token[98:], "big"), public.e, public.n)
        ratio = int.from_bytes(each.blinded, "big") * pow(encoded, -1, public.n) % public.n
        assert all(ratio != pow(factor, public.e, public.n) for factor in range(1, 1_000))
    assert len({token[98:] for token in finished}) == 3, "salts differ"
    again = tokens.new_token(public, asked, bytes(32), b"\0")
    assert again == pending[0] and again


def test_the_signer_blinds_what_it_raises_to_its_secret(
    signer: BlindSigner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same request leads to another exponentiation each time, so that times tell nothing of the key."""
    seen: list[int] = []
    usual = BlindSigner._power
    monkeypatch.setattr(
        BlindSigner, "_power", lambda self, number: seen.append(number) or usual(self, number)
    )
    request = tokens.new_token(signer.public, b"challenge", bytes(32), b"seed").request
    assert len({tokens.sign_token(signer, request) for _ in range(5)}) == 1
    base = int.from_bytes(request[3:], "big")
    assert len({*seen, base}) == 6


def test_a_fault_while_signing_is_not_given_out(signer: BlindSigner, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signature that is right modulo one prime only would give the key away (Boneh, DeMillo, Lipton)."""
    usual = BlindSigner._power
    monkeypatch.setattr(BlindSigner, "_power", lambda self, number: usual(self, number) + self._p)
    with pytest.raises(InputError, match="signing failed"):
        tokens.sign_token(signer, tokens.new_token(signer.public, b"challenge", bytes(32), b"seed").request)


def test_what_does_not_fit_the_key_is_refused(signer: BlindSigner) -> None:
    for wrong in (b"", bytes(255), b"\xff" * 256):
        with pytest.raises(InputError, match="below the key's modulus"):
            signer.sign(wrong)
    assert VerifyingKey.from_bytes(signer.public.to_bytes()).n == signer.public.n
    assert BlindSigner.from_bytes(signer.to_bytes()).public.n == signer.public.n
    short = rsa.generate_private_key(65_537, 1_024).public_key()
    with pytest.raises(InputError, match="at least 2,048 bits"):
        VerifyingKey.from_bytes(VerifyingKey(short).to_bytes())
    for wrong in (b"x", signer.public.to_bytes() + b"x", bytes.fromhex(KEY)[:40]):
        with pytest.raises(InputError, match="public key of a token issuer"):
            VerifyingKey.from_bytes(wrong)
