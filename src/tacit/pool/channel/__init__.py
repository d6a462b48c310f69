"""How an agent reaches a pool or an engine without telling who it is.

The paper assumes anonymous communication; here it is a choice that each person can make and check:

- **direct**: the other end sees the address. The pool then knows who asks, whatever the messages say.
- **SOCKS** (:mod:`tacit.pool.channel.choice`): through Tor or another proxy. The other end sees the proxy's
  address; what the proxy's operator sees is the proxy's business.
- **Oblivious HTTP** (RFC 9458, :mod:`tacit.pool.channel.oblivious`): the relay sees the address and nothing
  of the content, the gateway sees the content and nothing of the address. Who runs both sees both.

- :mod:`~tacit.pool.channel.oblivious`: HTTP messages as bytes (RFC 9292)
- :mod:`~tacit.pool.server.relay`, :mod:`~tacit.pool.server.relay`: the two parties between
- :mod:`~tacit.pool.channel.oblivious`: an httpx transport, so that whoever speaks HTTP can use it
"""
