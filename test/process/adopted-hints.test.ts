import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { startModelServer } from '../fixtures/model-server.ts'
import { makeFolder, serve } from '../fixtures/process.ts'

test('Tools: a hint still binds a run that another process resumes', async (t) => {
  const folder = await makeFolder(t)
  await mkdir(path.join(folder, 'files'))
  await writeFile(path.join(folder, 'files/sales.csv'), 'region,amount\nNorth,1\nWest,2\n')
  const asked = Promise.withResolvers<void>()
  let isSilent = true
  const model = await startModelServer(({ body }) => {
    if (body.messages.at(-1).role === 'tool') return { text: body.messages.at(-1).content }
    if (!isSilent) return { calls: [{ name: 'read_file', arguments: '{"path":"sales.csv"}' }] }
    asked.resolve()
    return { silentAfter: 0 }
  })
  t.after(() => model.close())
  const config = {
    llms: { primary: { provider: 'openai-compatible', model: 'scripted', base_url: model.url } },
    tools: [{ name: 'read_file' }, { name: 'sales', type: 'data_query', config: { tables: { sales: 'sales.csv' } } }],
  }
  await writeFile(path.join(folder, 'agent.yaml'), JSON.stringify(config))
  const first = await serve(t, folder)
  const hint = { tool_name: 'sales', filter_key: 'region', filter_type: 'equals', filter_value: 'North' }
  const body = { messages: [{ role: 'user', content: 'go' }], data_filter_hints: [hint], on_disconnect: 'continue' }
  const lost = first.client.chat(body, { 'request-id': 'r' }).catch(() => undefined)
  await asked.promise
  first.child.kill('SIGKILL')
  await first.ended
  await lost
  isSilent = false

  const { client } = await serve(t, folder)
  const { body: answer } = await client.chat(body, { 'request-id': 'r' })
  assert.match(answer.body.output, /filter/)
  assert.doesNotMatch(JSON.stringify(answer), /West/)
})
