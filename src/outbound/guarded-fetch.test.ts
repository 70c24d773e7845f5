import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { createAddressGuard, createGuardedFetch, type Lookup } from './guarded-fetch.ts'

async function listen(t: TestContext, answer: http.RequestListener, host = '127.0.0.1') {
  const asked: string[] = []
  const server = http.createServer((request, response) => {
    asked.push(request.url ?? '')
    answer(request, response)
  })
  await once(server.listen(0, host), 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { asked, port: (server.address() as AddressInfo).port }
}

function guarded(t: TestContext, allowed: string[] = [], lookup?: Lookup) {
  const one = createGuardedFetch({ allowed, ...(lookup ? { lookup } : {}) })
  t.after(() => one.close())
  return one
}

/** Answers with these addresses, one after the other, the last for ever. */
function names(...addresses: string[]): Lookup {
  return (_host, _options, done) => {
    const address = addresses.length > 1 ? addresses.shift()! : addresses[0]!
    done(null, [{ address, family: address.includes(':') ? 6 : 4 }])
  }
}

const isRefused = (error: Error) => (error.cause as { code?: string } | undefined)?.code === 'EREFUSED'

test('an internal address is refused in every notation, without a connection', async (t) => {
  const { asked, port } = await listen(t, (_, response) => response.end('inside'))
  const { fetch, refusalOf } = guarded(t)
  const hosts = ['127.0.0.1', 'localhost', '2130706433', '0x7f000001', '0177.0.0.1', '127.1', '0.0.0.0', '[::1]', '[::]']
  const tricks = ['[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::127.0.0.1]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]', '[fec0::1]']
  const others = ['169.254.169.254', '10.0.0.1', '172.16.0.1', '192.168.1.1', '100.64.0.1', '168.63.129.16', '[fd00::1]', '[fe80::1]']
  for (const host of [...hosts, ...tricks, ...others]) {
    const url = `http://${host}:${port}/`
    await assert.rejects(fetch(url, { signal: AbortSignal.timeout(2000) }), isRefused, host)
    assert.equal(await refusalOf(url), 'must name a host with a public address', host)
  }
  assert.deepEqual(asked, [])
})

test('an unusable address is refused before the request', async (t) => {
  const { refusalOf } = guarded(t, [], (_host, _options, done) => done(Object.assign(new Error('no'), { code: 'ENOTFOUND' }), []))
  assert.equal(await refusalOf('ftp://example.com/'), 'must be an http or https address')
  assert.equal(await refusalOf('file:///etc/passwd'), 'must be an http or https address')
  assert.equal(await refusalOf('no address'), 'must be an http or https address')
  assert.equal(await refusalOf('http://93.184.216.34/?\0'), 'must be an http or https address')
  assert.equal(await refusalOf('http://nowhere.example/'), 'must name a host with a public address')
})

test('a name that resolves to a public address at the check and an internal one at the connection is refused', async (t) => {
  const { asked, port } = await listen(t, (_, response) => response.end('inside'))
  const { fetch, refusalOf } = guarded(t, [], names('93.184.216.34', '127.0.0.1'))
  const url = `http://rebinding.example:${port}/`
  assert.equal(await refusalOf(url), undefined)
  await assert.rejects(fetch(url), isRefused)
  assert.deepEqual(asked, [])
})

test('a name with a public and an internal address is refused', async (t) => {
  const both: Lookup = (_host, _options, done) =>
    done(null, [
      { address: '93.184.216.34', family: 4 },
      { address: '::1', family: 6 },
    ])
  const { fetch, refusalOf } = guarded(t, [], both)
  assert.equal(await refusalOf('http://both.example/'), 'must name a host with a public address')
  await assert.rejects(fetch('http://both.example/'), isRefused)
})

test('a redirect to an internal address is refused', async (t) => {
  const inside = await listen(t, (_, response) => response.end('inside'))
  const outside = await listen(t, (_, response) => response.writeHead(302, { location: `http://127.0.0.1:${inside.port}/` }).end())
  const { fetch } = guarded(t, ['public.example'], names('127.0.0.1'))
  const url = `http://public.example:${outside.port}/`
  await assert.rejects(fetch(url), isRefused)
  const unfollowed = await fetch(url, { redirect: 'manual' })
  assert.equal(unfollowed.status, 302)
  await unfollowed.body?.cancel()
  assert.deepEqual([outside.asked.length, inside.asked.length], [2, 0])
})

test('allowed addresses are reached: by name, by name and port, by address, by block', async (t) => {
  const { asked, port } = await listen(t, (_, response) => response.end('hello'))
  const reached: [string, string][] = [
    ['localhost', 'localhost'],
    ['localhost', 'LOCALHOST'],
    [`localhost:${port}`, 'localhost'],
    ['127.0.0.1', '127.0.0.1'],
    [`127.0.0.1:${port}`, '127.0.0.1'],
    ['127.0.0.0/8', '127.0.0.1'],
    ['127.0.0.0/8', '[::ffff:127.0.0.1]'],
  ]
  for (const [allowed, host] of reached) {
    const { fetch, refusalOf } = guarded(t, [allowed])
    const url = `http://${host}:${port}/`
    assert.equal(await refusalOf(url), undefined, allowed)
    assert.equal(await (await fetch(url)).text(), 'hello', allowed)
  }
  assert.equal(asked.length, reached.length)
  for (const allowed of ['localhost:1', '127.0.0.1:1', '127.0.0.2', '10.0.0.0/8', 'ocalhost']) {
    await assert.rejects(guarded(t, [allowed]).fetch(`http://localhost:${port}/`), isRefused, allowed)
  }
})

test('public addresses may be reached, internal ones on one port alone when the rule names a port', () => {
  const guard = createAddressGuard(['[fd00::1]:8080', '192.168.0.0/24'])
  assert.ok(guard.allowsAddress('93.184.216.34', 443))
  assert.ok(guard.allowsAddress('2606:2800:220:1::1', 443))
  assert.deepEqual([guard.allowsAddress('fd00::1', 8080), guard.allowsAddress('fd00::1', 80)], [true, false])
  assert.deepEqual([guard.allowsAddress('192.168.0.7', 80), guard.allowsAddress('192.168.1.7', 80)], [true, false])
  assert.equal(guard.allowsAddress('no address', 80), false)
})
