import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { collectGarbage } from '../fixtures/garbage.ts'
import { createClient } from '../fixtures/service-client.ts'

test('a stream that is read late has all of its events', async (t) => {
  const chunk = { id: 'r', token: 'a', agent_step: 'answer', finish_reason: 'stop', usage: [] }
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(`id: r:1\ndata: ${JSON.stringify(chunk)}\n\n`)
  })
  t.after(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const stream = await createClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, undefined).follow('r')
  await collectGarbage()
  assert.deepEqual(await stream.rest(), [{ id: 'r:1', chunk }])
})
