import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { until } from '../fixtures/async-client.ts'
import { startService, type TestService } from '../fixtures/service.ts'

/** Sends raw bytes. Returns the whole answer when the service closes the connection. */
function sendRaw({ url }: TestService, request: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write(request)
  return text(socket)
}

function alarms({ log }: TestService): string[] {
  return log.filter((line) => (JSON.parse(line) as { level: number }).level >= 50)
}

test('Docs: a path that leaves the folder is 404, and is not logged as an error', async (t) => {
  const service = await startService(t, { script: {} })
  for (const path of [
    '/docs/api/static/../../../../etc/passwd',
    '/docs/api/static/%2e%2e/%2e%2e/package.json',
    '/docs/api/static/..%2f..%2fpackage.json',
    '/docs/api/static/nothing',
  ]) {
    const answer = await sendRaw(service, `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
    assert.match(answer, /^HTTP\/1.1 404 /, path)
    assert.match(answer, /"error_type":"NotFound"/, path)
  }
  assert.deepEqual(alarms(service), [])
})

test('Docs: the page loads only its own files, also over http', async (t) => {
  const { url } = await startService(t, { script: {} })
  const page = await fetch(`${url}/docs/api/`)
  const policy = page.headers.get('content-security-policy')!
  assert.doesNotMatch(policy, /upgrade-insecure-requests|https:|swagger\.io|unsafe/)
  assert.doesNotMatch(await page.text(), /<script>|<style|https?:\/\//)
  assert.equal((await fetch(`${url}/docs/api/static/swagger-ui.css`)).status, 200)
})

test('Errors: a client that aborts its body is not logged as an error', async (t) => {
  const service = await startService(t, { script: {} })
  const { key } = await service.key()
  for (const length of [100, 100_000]) {
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
    const head = `POST /core/v1/chain HTTP/1.1\r\nhost: x\r\nx-service-access: ${key}\r\ncontent-type: application/json\r\n`
    await new Promise<void>((resolve) => socket.write(`${head}content-length: ${length}\r\n\r\n{`, () => resolve()))
    await new Promise((resolve) => setTimeout(resolve, 100))
    socket.resetAndDestroy()
  }
  await until(
    () => service.client.request('GET', '/health'),
    ({ status }) => status === 200,
  )
  await new Promise((resolve) => setTimeout(resolve, 100))
  assert.deepEqual(alarms(service), [])
})

test('A2A: a message whose id is not a text, number or null is refused', async (t) => {
  const service = await startService(t, { script: {} })
  const headers = { 'a2a-version': '1.0', 'content-type': 'application/json' }
  const deep = `${'['.repeat(900)}${']'.repeat(900)}`
  for (const id of ['{}', '[1]', 'true', deep]) {
    const body = `{"jsonrpc":"2.0","id":${id},"method":"GetTask","params":{"id":"x"}}`
    const reply = await service.client.request('POST', '/a2a', { body, headers })
    assert.deepEqual(
      { status: reply.status, id: reply.body.id, code: reply.body.error.code },
      { status: 200, id: null, code: -32600 },
      id.slice(0, 20),
    )
  }
  for (const id of ['1', '"a"', 'null']) {
    const body = `{"jsonrpc":"2.0","id":${id},"method":"GetTask","params":{"id":"x"}}`
    assert.equal((await service.client.request('POST', '/a2a', { body, headers })).body.id, JSON.parse(id))
  }
  assert.deepEqual(alarms(service), [])
})

test('Errors: malformed requests without a key are refused, and are not logged as errors', async (t) => {
  const service = await startService(t, { script: {} })
  const paths = [
    '/',
    '//',
    '/docs/api//',
    '/docs/api/static/',
    '/docs/api/static/%00',
    '/core/v1/runs/%2e%2e',
    '/v1/models/%ff',
    '/.well-known/x',
    '/console/..%2f',
    '/core/v1/artifacts/x',
  ]
  const heads = [
    '',
    'range: bytes=9-1\r\n',
    'if-modified-since: never\r\n',
    'content-type: ;;;\r\n',
    'accept: \r\n',
    'origin: null\r\n',
    'x-service-access: a.b.c\r\n',
    'transfer-encoding: chunked\r\n',
  ]
  for (const path of paths) {
    for (const head of heads) {
      const end = head.startsWith('transfer') ? '0\r\n\r\n' : ''
      for (const method of ['GET', 'POST', 'HEAD', 'QUERY']) {
        const answer = await sendRaw(service, `${method} ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${head}\r\n${end}`)
        assert.doesNotMatch(answer, /^HTTP\/1.1 5/, `${method} ${path} ${head}`)
      }
    }
  }
  assert.deepEqual(alarms(service), [])
})
