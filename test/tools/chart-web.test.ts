import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import sharp from 'sharp'
import { startService } from '../fixtures/service.ts'
import { callOf } from '../fixtures/tools.ts'

const sales = 'region,amount\nNorth,28\nSouth,55\nNorth,2\n'
const data = { files: { 'sales.csv': sales } }
const salesTool = { name: 'sales', type: 'data_query', config: { tables: { sales: 'sales.csv' } } }
const spec = {
  title: 'Sales by region',
  mark: 'bar',
  encoding: { x: { field: 'region', type: 'nominal' }, y: { field: 'total', type: 'quantitative' } },
}

async function startSite(t: TestContext): Promise<string> {
  const page = `<html><head><title>On foxes</title></head><body><article><h1>On foxes</h1><p>${'They live in the woods near the town. '.repeat(9)}</p></article></body></html>`
  const server = createServer((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(page))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/foxes`
}

test('Tools: the result of a query is charted by reference, and the pictures can be downloaded', async (t) => {
  const sql = 'SELECT region, sum(amount) AS total FROM sales GROUP BY region ORDER BY region'
  const { client, model } = await startService(t, {
    ...data,
    config: { tools: [salesTool, { name: 'chart' }] },
    script: [callOf('sales', { sql }), callOf('chart', { spec, data: 'sales' }), { text: 'There it is.' }],
  })
  const { body: answer } = await client.chat('chart the sales', { 'session-id': 's' })
  assert.equal(answer.body.output, 'There it is.')
  const [, step] = answer.body.intermediate_steps
  assert.equal(step.status, 'success')
  assert.equal(step.output.rows, 2)
  const toolMessage = JSON.parse(model.requests[2]!.body.messages.at(-1).content)
  assert.deepEqual(toolMessage, step.output)

  const { generated_artifacts: files } = (await client.session('s')).body.messages[1].response_metadata
  assert.deepEqual(
    files.map(({ file_name, file_type, tool }: Record<string, string>) => [file_name, file_type, tool]),
    [
      ['sales-by-region.png', 'image/png', 'chart'],
      ['sales-by-region.svg', 'image/svg+xml', 'chart'],
    ],
  )
  const [png, svg] = await Promise.all(
    [0, 1].map(async (at) => {
      const { body } = await client.request('GET', `/core/v1/download_artifact/1/${at}`, { headers: { 'session-id': 's' } })
      const response = await fetch(body.body.download_url)
      assert.equal(response.headers.get('content-security-policy'), 'sandbox')
      return Buffer.from(await response.arrayBuffer())
    }),
  )
  const { width, height } = await sharp(png).metadata()
  assert.deepEqual({ width, height }, { width: step.output.width, height: step.output.height })
  assert.match(svg!.toString(), />Sales by region</)
})

test('Tools: a chart and a web page can be requested directly, and errors are reported', async (t) => {
  const url = await startSite(t)
  const { client } = await startService(t, {
    config: { tools: [{ name: 'chart' }, { name: 'web_page' }] },
    environment: { OUTBOUND_ALLOW: '127.0.0.1' },
  })
  const execute = (tool_name: string, tool_input: object) =>
    client.request('POST', '/core/v1/tool/execute', { body: { tool_name, tool_input } })
  const rows = [{ region: 'North', total: 1 }]
  const chart = await execute('chart', { spec, data: rows, format: 'png' })
  assert.deepEqual([chart.status, chart.body.status, chart.body.output.rows], [200, 'success', 1])
  const [file] = chart.body.generated_artifacts
  const { width } = await sharp(Buffer.from(await (await fetch(file.download_url)).arrayBuffer())).metadata()
  assert.equal(width, chart.body.output.width)

  const wrong = await execute('chart', { spec: { ...spec, mark: 'pie' }, data: rows })
  assert.equal(wrong.body.status, 'error')
  assert.match(wrong.body.output.error, /spec\.mark must be one of/)
  const unnamed = await execute('chart', { data: rows })
  assert.deepEqual([unnamed.status, /spec/.test(unnamed.body.body)], [400, true])

  const page = await execute('web_page', { url })
  assert.equal(page.body.output.title, 'On foxes')
  assert.match(page.body.output.text, /woods near the town/)
  const inside = await execute('web_page', { url: 'http://169.254.169.254/latest/meta-data/' })
  assert.deepEqual([inside.status, inside.body.status], [200, 'error'])
  assert.equal(inside.body.output.error, 'There is no public host of this name.')
})

test('Chat: without a model key, built-in tools are used by their names', async (t) => {
  const url = await startSite(t)
  const { client } = await startService(t, {
    ...data,
    config: { tools: [salesTool, { name: 'chart' }, { name: 'web_page' }] },
    environment: { OUTBOUND_ALLOW: '127.0.0.1' },
  })
  const say = async (text: string) => (await client.chat(text)).body.body
  const inline = { ...spec, data: { values: [{ region: 'North', total: 1 }] } }
  const charted = await say(`Chart it: ${JSON.stringify(inline)}`)
  assert.match(charted.output, /^I drew a chart of 1 row: `sales-by-region\.png` and `sales-by-region\.svg`/)
  assert.match((await say(`Read ${url}`)).output, /\*\*On foxes\*\*[^]*woods near the town/)
  assert.match((await say('What were the sales by region?')).output, /North[^]*30/)
  const reply = await say('Draw a chart of the sales by region')
  const calls = reply.intermediate_steps.filter((step: { type: string }) => step.type === 'tool_call')
  assert.deepEqual(
    calls.map((step: { tool: string; status: string }) => [step.tool, step.status]),
    [
      ['sales', 'success'],
      ['chart', 'success'],
    ],
  )
  assert.match(reply.output, /^I drew a chart of 2 rows: `[\w-]+\.png`/)
})
