"""Known answers of RFC 9474 (appendix A.1, RSABSSA-SHA384-PSS-Randomized), byte for byte."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from tacit.errors import InputError
from tacit.pool.protocol.batches import PREFIX, BlindSigner, VerifyingKey

P = (
    "e1f4d7a34802e27c7392a3cea32a262a34dc3691bd87f3f310dc75673488930559c120fd0410194fb8a0da55bd0b8122"
    "7e843fdca6692ae80e5a5d414116d4803fca7d8c30eaaae57e44a1816ebb5c5b0606c536246c7f11985d731684150b63"
    "c9a3ad9e41b04c0b5b27cb188a692c84696b742a80d3cd00ab891f2457443dadfeba6d6daf108602be26d7071803c671"
    "05a5426838e6889d77e8474b29244cefaf418e381b312048b457d73419213063c60ee7b0d81820165864fef93523c963"
    "5c22210956e53a8d96322493ffc58d845368e2416e078e5bcb5d2fd68ae6acfa54f9627c42e84a9d3f2774017e32ebca"
    "06308a12ecc290c7cd1156dcccfb2311"
)
Q = (
    "c601a9caea66dc3835827b539db9df6f6f5ae77244692780cd334a006ab353c806426b60718c05245650821d39445d3a"
    "b591ed10a7339f15d83fe13f6a3dfb20b9452c6a9b42eaa62a68c970df3cadb2139f804ad8223d56108dfde30ba7d367"
    "e9b0a7a80c4fdba2fd9dde6661fc73fc2947569d2029f2870fc02d8325acf28c9afa19ecf962daa7916e21afad09eb62"
    "fe9f1cf91b77dc879b7974b490d3ebd2e95426057f35d0a3c9f45f79ac727ab81a519a8b9285932d9b2e5ccd347e59f3"
    "f32ad9ca359115e7da008ab7406707bd0e8e185a5ed8758b5ba266e8828f8d863ae133846304a2936ad7bc7c9803879d"
    "2fc4a28e69291d73dbd799f8bc238385"
)
MESSAGE = "8f3dc6fb8c4a02f4d6352edf0907822c1210a9b32f9bdda4c45a698c80023aa6b59f8cfec5fdbb36331372ebefedae7d"
PREFIX_BYTES = "8417e699b219d583fb6216ae0c53ca0e9723442d02f1d1a34295527e7d929e8b"
SALT = "051722b35f458781397c3a671a7d3bd3096503940e4c4f1aaa269d60300ce449555cd7340100df9d46944c5356825abf"
INVERSE = (
    "80682c48982407b489d53d1261b19ec8627d02b8cda5336750b8cee332ae260de57b02d72609c1e0e9f28e2040fc65b6"
    "f02d56dbd6aa9af8fde656f70495dfb723ba01173d4707a12fddac628ca29f3e32340bd8f7ddb557cf819f6b01e445ad"
    "96f874ba235584ee71f6581f62d4f43bf03f910f6510deb85e8ef06c7f09d9794a008be7ff2529f0ebb69decef646387"
    "dc767b74939265fec0223aa6d84d2a8a1cc912d5ca25b4e144ab8f6ba054b54910176d5737a2cff011da431bd5f2a0d2"
    "d66b9e70b39f4b050e45c0d9c16f02deda9ddf2d00f3e4b01037d7029cd49c2d46a8e1fc2c0c17520af1f4b5e25ba396"
    "afc4cd60c494a4c426448b35b49635b337cfb08e7c22a39b256dd032c00adddafb51a627f99a0e1704170ac1f1912e49"
    "d9db10ec04c19c58f420212973e0cb329524223a6aa56c7937c5dffdb5d966b6cd4cbc26f3201dd25c80960a1a111b32"
    "947bb78973d269fac7f5186530930ed19f68507540eed9e1bab8b00f00d8ca09b3f099aae46180e04e3584bd7ca054df"
    "18a1504b89d1d1675d0966c4ae1407be325cdf623cf13ff13e4a28b594d59e3eadbadf6136eee7a59d6a444c9eb4e219"
    "8e8a974f27a39eb63af2c9af3870488b8adaad444674f512133ad80b9220e09158521614f1faadfe8505ef57b7df6813"
    "048603f0dd04f4280177a11380fbfc861dbcbd7418d62155248dad5fdec0991f"
)
BLINDED = (
    "aa3ee045138d874669685ffaef962c7694a9450aa9b4fd6465db9b3b75a522bb921c4c0fdcdfae9667593255099cff51"
    "f5d3fd65e8ffb9d3b3036252a6b51b6edfb3f40382b2bbf34c0055e4cbcc422850e586d84f190cd449af11dc65545f5f"
    "e26fd89796eb87da4bda0c545f397cddfeeb56f06e28135ec74fd477949e7677f6f36cfae8fd5c1c5898b03b9c244cf6"
    "d1a4fb7ad1cb43aff5e80cb462fac541e72f67f0a50f1843d1759edfaae92d1a916d3f0efaf4d650db416c3bf8abdb54"
    "14a78cebc97de676723cb119e77aea489f2bbf530c440ebc5a75dccd3ebf5a412a5f346badd61bee588e5917bdcce9dc"
    "33c882e39826951b0b8276c6203971947072b726e935816056ff5cb11a71ca2946478584126bb877acdf87255f26e6cc"
    "a4e0878801307485d3b7bb89b289551a8b65a7a6b93db010423d1406e149c87731910306e5e410b41d4da3234624e74f"
    "92845183e323cf7eb244f212a695f8856c675fbc3a021ce649e22c6f0d053a9d238841cf3afdc2739f99672a419ae13c"
    "17f1f8a3bc302ec2e7b98e8c353898b7150ad8877ec841ea6e4b288064c254fefd0d049c3ad196bf7ffa535e74585d01"
    "20ce728036ed500942fbd5e6332c298f1ffebe9ff60c1e117b274cf0cb9d70c36ee4891528996ec1ed0b178e9f3c0c0e"
    "6120885f39e8ccaadbb20f3196378c07b1ff22d10049d3039a7a92fe7efdd95d"
)
BLIND_SIGNATURE = (
    "3f4a79eacd4445fca628a310d41e12fcd813c4d43aa4ef2b81226953248d6d00adfee6b79cb88bfa1f99270369fd063c"
    "023e5ed546719b0b2d143dd1bca46b0e0e615fe5c63d95c5a6b873b8b50bc52487354e69c3dfbf416e7aca18d5842c89"
    "b676efdd38087008fa5a810161fcdec26f20ccf2f1e6ab0f9d2bb93e051cb9e86a9b28c5bb62fd5f5391379f887c0f70"
    "6a08bcc3b9e7506aaf02485d688198f5e22eefdf837b2dd919320b17482c5cc54271b4ccb41d267629b3f844fd63750b"
    "01f5276c79e33718bb561a152acb2eb36d8be75bce05c9d1b94eb609106f38226fb2e0f5cd5c5c39c59dda166862de49"
    "8b8d92f6bcb41af433d65a2ac23da87f39764cb64e79e74a8f4ce4dd567480d967cefac46b6e9c06434c371563583435"
    "7edd2ce6f105eea854ac126ccfa3de2aac5607565a4e5efaac5eed491c335f6fc97e6eb7e9cea3e12de38dfb315220c0"
    "a3f84536abb2fdd722813e083feda010391ac3d8fd1cd9212b5d94e634e69ebcc800c4d5c4c1091c64afc37acf563c7f"
    "c0a6e4c082bc55544f50a7971f3fb97d5853d72c3af34ffd5ce123998be5360d1059820c66a81e1ee6d9c1803b5b62af"
    "6bc877526df255b6d1d835d8c840bebbcd6cc0ee910f17da37caf8488afbc08397a1941fcc79e76a5888a95b3d5405e1"
    "3f737bea5c78d716a48eb9dc0aec8de39c4b45c6914ad4a8185969f70b1adf46"
)
SIGNATURE = (
    "191e941c57510e22d29afad257de5ca436d2316221fe870c7cb75205a6c071c2735aed0bc24c37f3d5bd960ab97a829a"
    "508f966bbaed7a82645e65eadaf24ab5e6d9421392c5b15b7f9b640d34fec512846a3100b80f75ef51064602118c1a77"
    "d28d938f6efc22041d60159a518d3de7c4d840c9c68109672d743d299d8d2577ef60c19ab463c716b3fa75fa56f57353"
    "49d414a44df12bf0dd44aa3e10822a651ed4cb0eb6f47c9bd0ef14a034a7ac2451e30434d513eb22e68b7587a8de9b4e"
    "63a059d05c8b22c7c51e2cfee2d8bef511412e93c859a13726d87c57d1bc4c2e68ab121562f839c3a3d233e87ed63c69"
    "b7e57525367753fbebcc2a9805a2802659f5888b2c69115bf865559f10d906c09d048a0d71bfee4b33857393ec2b69e4"
    "51433496d02c9a7910abb954317720bbde9e69108eafc3e90bad3d5ca4066d7b1e49013fa04e948104a1dd82b12509ec"
    "b146e948c54bd8bfb5e6d18127cd1f7a93c3cf9f2d869d5a78878c03fe808a0d799e910be6f26d18db61c485b303631d"
    "3568368fc41986d08a95ea6ac0592240c19d7b22416b9c82ae6241e211dd5610d0baaa9823158f9c32b66318f5529491"
    "b7eeadcaa71898a63bac9d95f4aa548d5e97568d744fc429104e32edd9c87519892a198a30d333d427739ffb9607b092"
    "e910ae37771abf2adb9f63bc058bf58062ad456cb934679795bbdfcdfad5e0f2"
)


@pytest.fixture(scope="module")
def signer() -> BlindSigner:
    """The RFC's key, from its two primes."""
    p, q, e = int(P, 16), int(Q, 16), 65_537
    d = pow(e, -1, (p - 1) * (q - 1))
    public = rsa.RSAPublicNumbers(e, p * q)
    numbers = rsa.RSAPrivateNumbers(p, q, d, d % (p - 1), d % (q - 1), pow(q, -1, p), public)
    return BlindSigner(numbers.private_key())


def test_every_step_gives_the_known_answer(signer: BlindSigner) -> None:
    prepared = bytes.fromhex(PREFIX_BYTES + MESSAGE)
    blinded = signer.public.blind_prepared(prepared, bytes.fromhex(SALT), int(INVERSE, 16))
    assert blinded.request.hex() == BLINDED
    signed = signer.sign(blinded.request)
    assert signed.hex() == BLIND_SIGNATURE
    assert signer.public.finalize(blinded, signed).hex() == SIGNATURE
    assert signer.public.verify(prepared, bytes.fromhex(SIGNATURE))


def test_what_was_changed_is_no_signature(signer: BlindSigner) -> None:
    prepared = bytes.fromhex(PREFIX_BYTES + MESSAGE)
    assert not signer.public.verify(prepared + b"x", bytes.fromhex(SIGNATURE))
    assert not signer.public.verify(prepared, bytes(512))
    blinded = signer.public.blind(b"message")
    assert blinded.message[PREFIX:] == b"message"
    other = signer.sign(signer.public.blind(b"message").request)
    with pytest.raises(InputError, match="no signature of this key"):
        signer.public.finalize(blinded, other)
    assert signer.public.verify(
        blinded.message, signer.public.finalize(blinded, signer.sign(blinded.request))
    )


def test_what_does_not_fit_the_key_is_refused(signer: BlindSigner) -> None:
    for wrong in (b"", bytes(511), b"\xff" * 512):
        with pytest.raises(InputError, match="below the key's modulus"):
            signer.sign(wrong)
    assert VerifyingKey.from_bytes(signer.public.to_bytes()).n == signer.public.n
    short = rsa.generate_private_key(65_537, 1_024).public_key()
    with pytest.raises(InputError, match="at least 2,048 bits"):
        VerifyingKey.from_bytes(VerifyingKey(short).to_bytes())
    with pytest.raises(InputError, match="no public key"):
        VerifyingKey.from_bytes(b"x")
