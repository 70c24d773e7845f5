import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { WebSocket } from 'ws'
import { makeFolder, serve, type RunningService } from '../fixtures/process.ts'

/** A service in which no route has been asked for. */
async function start(t: TestContext, environment: Record<string, string> = {}): Promise<RunningService & { key: string }> {
  const folder = await makeFolder(t)
  const service = await serve(t, folder, { EMBEDDED_ENCODER: 'off', LOG_FORMAT: 'json', ...environment })
  return { ...service, key: (await readFile(path.join(folder, '.agent-core/admin.key'), 'utf8')).trim() }
}

const lines = (service: RunningService): any[] => {
  const texts = service.stdout().split('\n')
  return texts.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line))
}

test('the first requests to all kinds of routes are answered while the routes are made, and logged once', async (t) => {
  const origin = 'https://app.example'
  const service = await start(t, { CORS_ORIGINS: origin })
  const { client, url, key } = service
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`, { headers: { authorization: `Bearer ${key}` } })
  const opened = once(socket, 'open')
  const preflight = fetch(`${url}/core/v1/chain`, { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'POST' } })
  const large = { model: 'agent-core', input: 'x'.repeat(200_000), temperature: 'high' }
  const [chat, sessions, wrong, unknown, broken, refused, page, body] = await Promise.all([
    client.chat('What is 17% of 2,340?'),
    client.request('GET', '/core/v1/sessions?limit=1'),
    client.request('GET', '/core/v1/chain'),
    client.request('GET', '/core/v1/nothing'),
    client.request('GET', '/v1/%zz'),
    fetch(`${url}/core/v1/sessions`),
    fetch(`${url}/docs/api/`),
    client.request('POST', '/v1/responses', { body: large }),
  ])
  assert.match(chat.text, /397\.8/)
  assert.deepEqual([sessions.status, unknown.status, refused.status, page.status, body.status], [200, 404, 401, 200, 400], body.text)
  assert.deepEqual([wrong.status, wrong.headers.get('allow')], [405, 'POST'])
  assert.equal(broken.body.error.type, 'invalid_request_error')
  assert.equal((await preflight).headers.get('access-control-allow-origin'), origin)
  await opened
  socket.terminate()
  const logged = lines(service).filter(({ msg }) => msg === 'request')
  const ids = logged.map(({ requestId }) => requestId)
  assert.equal(new Set(ids).size, ids.length)
  assert.equal(logged.filter(({ route }) => route === '/core/v1/sessions').length, 2)
})

test('a service that is stopped while all routes are being made ends', async (t) => {
  const service = await start(t)
  const first = service.client.request('GET', '/core/v1/sessions').catch(() => undefined)
  service.child.kill('SIGTERM')
  assert.equal(await service.ended, 0)
  await first
})
