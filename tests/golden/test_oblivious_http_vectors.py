"""The known answers of RFC 9292 (section 5) and RFC 9458 (appendix A), byte for byte."""

import pytest
from pyhpke import AEADId, CipherSuite, KDFId, KEMId, KEMKeyPair

from tacit import InputError
from tacit.pool.channel.oblivious import (
    BinaryRequest,
    BinaryResponse,
    GatewayKey,
    read_key_configuration,
    read_request,
    read_response,
    seal_request,
)

SECRET = "3c168975674b2fa8e465970b79c8dcf09f1c741626480bd4c6162fc5b6a98e1a"
EPHEMERAL = "bc51d5e930bda26589890ac7032f70ad12e4ecb37abb1b65b1256c9c48999c73"
CONFIGURATION = "01002031e1f05a740102115220e9af918f738674aec95f54db6e04eb705aae8e79815500080001000100010003"
REQUEST = "00034745540568747470730b6578616d706c652e636f6d012f"
SEALED_REQUEST = (
    "010020000100014b28f881333e7c164ffc499ad9796f877f4e1051ee6d31bad19dec96c208b472"
    "6374e469135906992e1268c594d2a10c695d858c40a026e7965e7d86b83dd440b2c0185204b4d63525"
)
NONCE = "c789e7151fcba46158ca84b04464910d"
RESPONSE = "0140c8"
SEALED_RESPONSE = "c789e7151fcba46158ca84b04464910d86f9013e404feea014e7be4a441f234f857fbd"

KNOWN_REQUEST = (
    "00034745540568747470730000a2f68656c6c6f2e747874406c0a757365722d6167656e74346375726c2f372e31362e33206c"
    "69626375726c2f372e31362e33204f70656e53534c2f302e392e376c207a6c69622f312e322e3304686f73740f7777772e65"
    "78616d706c652e636f6d0f6163636570742d6c616e677561676506656e2c206d690000"
).replace("0000a2f", "000a2f", 1)
OPEN_REQUEST = (
    "02034745540568747470730000a2f68656c6c6f2e7478740a757365722d6167656e74346375726c2f372e31362e33206c6962"
    "6375726c2f372e31362e33204f70656e53534c2f302e392e376c207a6c69622f312e322e3304686f73740f7777772e657861"
    "6d706c652e636f6d0f6163636570742d6c616e677561676506656e2c206d6900" + "00" * 12
).replace("0000a2f", "000a2f", 1)
KNOWN_RESPONSE = (
    "0140c8001d5468697320636f6e74656e7420636f6e7461696e732043524c462e0d0a0d07747261696c65720474657874"
)
HELLO = BinaryRequest(
    b"GET",
    b"https",
    b"",
    b"/hello.txt",
    (
        (b"user-agent", b"curl/7.16.3 libcurl/7.16.3 OpenSSL/0.9.7l zlib/1.2.3"),
        (b"host", b"www.example.com"),
        (b"accept-language", b"en, mi"),
    ),
)


def test_a_known_length_request() -> None:
    assert HELLO.to_bytes().hex() == KNOWN_REQUEST
    assert len(KNOWN_REQUEST) == 2 * 135
    for cut in range(3):  # empty sections at the end may be left out
        assert read_request(bytes.fromhex(KNOWN_REQUEST)[: 135 - cut]) == HELLO


def test_an_indeterminate_length_request_with_padding() -> None:
    for cut in range(13):
        assert read_request(bytes.fromhex(OPEN_REQUEST)[: len(OPEN_REQUEST) // 2 - cut]) == HELLO


def test_a_response_with_trailers() -> None:
    response = BinaryResponse(200, (), b"This content contains CRLF.\r\n", ((b"trailer", b"text"),))
    assert response.to_bytes().hex() == KNOWN_RESPONSE
    assert read_response(bytes.fromhex(KNOWN_RESPONSE)) == response


def test_informational_responses_are_passed_over() -> None:
    early = bytes.fromhex("01" + "4066" + "0b" + "0772756e6e696e67" + "026f6b")
    assert read_response(early + bytes.fromhex(KNOWN_RESPONSE)[1:]).status == 200


def test_the_complete_exchange_of_the_rfc() -> None:
    configuration = read_key_configuration(bytes.fromhex(CONFIGURATION))
    assert configuration is not None
    assert configuration.to_bytes().hex() == CONFIGURATION
    kem = CipherSuite.new(KEMId.DHKEM_X25519_HKDF_SHA256, KDFId.HKDF_SHA256, AEADId.AES128_GCM).kem
    secret = kem.deserialize_private_key(bytes.fromhex(EPHEMERAL))
    public = kem.deserialize_public_key(bytes.fromhex(SEALED_REQUEST)[7:39])
    sealed = seal_request(configuration, bytes.fromhex(REQUEST), ephemeral=KEMKeyPair(secret, public))
    assert sealed.data.hex() == SEALED_REQUEST
    gateway = GatewayKey(bytes.fromhex(SECRET))
    assert gateway.configuration == configuration
    opened = gateway.open_request(sealed.data)
    assert opened.data.hex() == REQUEST
    assert read_request(opened.data) == BinaryRequest(b"GET", b"https", b"example.com", b"/")
    response = opened.seal_response(bytes.fromhex(RESPONSE), nonce=bytes.fromhex(NONCE))
    assert response.hex() == SEALED_RESPONSE
    assert sealed.open_response(response).hex() == RESPONSE
    assert read_response(bytes.fromhex(RESPONSE)).status == 200


@pytest.mark.parametrize("at", [0, 3, 8, 40, 60, 77])
def test_a_changed_bit_is_noticed(at: int) -> None:
    changed = bytearray.fromhex(SEALED_REQUEST)
    changed[at] ^= 1
    with pytest.raises(InputError):
        GatewayKey(bytes.fromhex(SECRET)).open_request(bytes(changed))
