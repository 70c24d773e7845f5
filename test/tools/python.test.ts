import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Client } from '../fixtures/service-client.ts'
import { startService } from '../fixtures/service.ts'
import { callOf } from '../fixtures/tools.ts'

const analysis = `
import csv, json
rows = list(csv.DictReader(open("data/sales.csv")))
totals = {}
for row in rows:
    totals[row["region"]] = totals.get(row["region"], 0) + int(row["amount"])
with open("totals.csv", "w", newline="") as file:
    csv.writer(file).writerows(totals.items())
print(len(rows), "rows")
totals`

/** The code is the last line of the question, or the analysis. */
function codeOf(question: string): string {
  return question.startsWith('code: ') ? question.slice(6) : analysis
}

async function lastStep(client: Client, question: string | object, session: string) {
  const { body, status } = await client.chat(question, { 'session-id': session })
  assert.equal(status, 200)
  return body.body.intermediate_steps.at(-1)
}

test('Tools: Python reads a file of the question, its output files can be downloaded, and its variables belong to the session', async (t) => {
  const { client, as } = await startService(t, {
    files: { 'data/sales.csv': 'region,amount\nnorth,10\nsouth,30\nnorth,2\n' },
    config: { tools: [{ name: 'run_python' }] },
    script: ({ body }) => {
      const last = body.messages.at(-1)
      if (last.role === 'tool') return { text: 'done' }
      return callOf('run_python', { code: codeOf(String(last.content).match(/code: .*/)?.[0] ?? '') })
    },
  })
  const question = { messages: [{ role: 'user', content: 'What are the totals?' }], context_files: ['data/sales.csv'] }
  const step = await lastStep(client, question, 'one')
  assert.equal(step.status, 'success')
  assert.deepEqual(step.output, { result: { north: 12, south: 30 }, stdout: '3 rows\n', files: ['totals.csv'] })

  const { body } = await client.request('GET', '/core/v1/download_artifact/1/0', { headers: { 'session-id': 'one' } })
  assert.equal(body.body.file_type, 'text/csv')
  assert.equal(await (await fetch(body.body.download_url)).text(), 'north,12\r\nsouth,30\r\n')

  assert.deepEqual((await lastStep(client, 'code: totals["north"] + len(open("sales.csv").readlines())', 'one')).output, { result: 16 })
  const otherSession = await lastStep(client, 'code: totals', 'two')
  assert.equal(otherSession.status, 'error')
  assert.match(otherSession.output.error, /NameError: name 'totals' is not defined/)
  const otherUser = await lastStep(await as({ sub: 'another' }), 'code: totals', 'one')
  assert.match(otherUser.output.error, /NameError: name 'totals' is not defined/)

  const direct = await client.request('POST', '/core/v1/tool/execute', { body: { tool_name: 'run_python', tool_input: { code: '6 * 7' } } })
  assert.deepEqual([direct.status, direct.body.status, direct.body.output], [200, 'success', { result: 42 }])
  const faulty = await client.request('POST', '/core/v1/tool/execute', { body: { tool_name: 'run_python', tool_input: { code: 7 } } })
  assert.equal(faulty.status, 400)
})

test('Tools: variables computed from all data are not visible in a filtered run, nor variables from another filter', async (t) => {
  const { client } = await startService(t, {
    files: { 'sales.csv': 'region,amount\nnorth,10\nsouth,30\n' },
    config: { tools: [{ name: 'run_python' }, { name: 'sales', type: 'data_query', config: { tables: { sales: 'sales.csv' } } }] },
    script: ({ body }) => {
      const last = body.messages.at(-1)
      if (last.role === 'tool' && !String(last.content).includes('columns')) return { text: 'done' }
      if (last.role === 'tool')
        return callOf('run_python', { code: 'known = globals().get("known", []) + results["sales"]["rows"]\nknown' })
      return callOf('sales', { sql: 'SELECT * FROM sales ORDER BY amount' })
    },
  })
  const ask = async (region?: string) => {
    const hint = { tool_name: 'sales', filter_key: 'region', filter_type: 'equals', filter_value: region }
    const hints = region === undefined ? {} : { data_filter_hints: [hint] }
    return (await lastStep(client, { messages: [{ role: 'user', content: 'go' }], ...hints }, 'one')).output.result
  }
  const [north, south] = [
    ['north', 10],
    ['south', 30],
  ]
  assert.deepEqual(await ask(), [north, south])
  assert.deepEqual(await ask('north'), [north])
  assert.deepEqual(await ask('south'), [south])
  assert.deepEqual(await ask('north'), [north, north])
  assert.deepEqual(await ask(), [north, south, north, south])
})
