import assert from 'node:assert/strict'
import { test } from 'node:test'
import { workSince } from '../../test/fixtures/work-meter.ts'
import { fakeTool } from '../agent/react-fixture.ts'
import type { DataFilter } from '../agent/tool.ts'
import { createSearch } from '../search/search.ts'
import { createToolFinder, createToolSearch } from './tool-index.ts'

const options = { limit: 5, filters: [] as DataFilter[] }
const names = (tools: readonly { name: string }[]) => tools.map(({ name }) => name)

test('a tool is found by the words of its name, of its description and of its parameters', () => {
  const search = createToolSearch()
  const tools = [
    fakeTool('github__listOpenIssues', { description: 'Gives what is to be done.' }),
    fakeTool('mail__send-message', { description: 'Writes to somebody.' }),
    fakeTool('x__HTTPFetch', { description: 'Gets a page.', schema: { type: 'object', properties: { maxBytes: {}, user_agent: {} } } }),
  ]
  for (const [query, name] of [
    ['open issue', 'github__listOpenIssues'],
    ['listOpenIssues', 'github__listOpenIssues'],
    ['send a message to Ada', 'mail__send-message'],
    ['http', 'x__HTTPFetch'],
    ['bytes', 'x__HTTPFetch'],
    ['agent', 'x__HTTPFetch'],
    ['what is to be done', 'github__listOpenIssues'],
  ] as const) {
    assert.equal(names(search(query, tools, options))[0], name, query)
  }
  assert.deepEqual(search('weather', tools, options), [])
  assert.deepEqual(names(search('send github page', tools.slice(0, 2), options)).toSorted(), [
    'github__listOpenIssues',
    'mail__send-message',
  ])
})

test('with data filters, descriptions that may reveal filtered data are not searched', () => {
  const search = createToolSearch()
  const tools = [
    fakeTool('sales', { description: 'Regions: Secretland.', filters: true, describe: () => 'SQL over sales.' }),
    fakeTool('plain', { description: 'Says where Secretland is.' }),
  ]
  const filters: DataFilter[] = [{ tool: 'sales', key: 'region', type: 'equals', value: 'North' }]
  assert.deepEqual(names(search('Secretland', tools, options)), ['sales', 'plain'])
  assert.deepEqual(names(search('Secretland', tools, { ...options, filters })), ['plain'])
  assert.deepEqual(names(search('sales', tools, { ...options, filters })), ['sales'])
})

test('the index follows tools that are added and removed', () => {
  const search = createToolSearch()
  for (let version = 0; version < 50; version++) {
    const tools = Array.from({ length: 20 }, (_, n) => fakeTool(`s__t${n}`, { description: n === 7 ? `word${version}` : 'other' }))
    assert.deepEqual(search(`word${version}`, tools, options), [tools[7]])
    assert.deepEqual(search(`word${version}`, tools.slice(0, 7), options), [])
  }
})

test('three hundred tools are indexed and searched quickly', () => {
  const search = createToolSearch()
  const tools = Array.from({ length: 300 }, (_, n) =>
    fakeTool(`e${n % 6}__tool_${n}`, { description: `Does the thing number ${n}. `.repeat(20) }),
  )
  const indexing = workSince()
  search('thing 7', tools, options)
  const built = indexing()
  const searching = workSince()
  for (let n = 0; n < 1000; n++) search(`thing number ${n}`, tools, options)
  const searchMs = searching() / 1000
  assert.ok(built < 500 && searchMs < 5, `${built} ms to index, ${searchMs} ms each`)
})

test('a finder finds tools by words and meaning, within the data filters', async (t) => {
  const meanings = ['mail message letter', 'calendar meeting appointment', '__']
  const encoder = {
    name: 'meanings',
    embed: async (texts: readonly string[]) =>
      texts.map((text) => meanings.map((words) => (words.split(' ').some((word) => text.toLowerCase().includes(word)) ? 1 : 0.01))),
  }
  const search = createSearch({ encoder: () => encoder })
  t.after(() => search.close())
  const { find, close } = createToolFinder(search)
  const tools = [
    fakeTool('outbox__send', { description: 'Sends a message to somebody.' }),
    fakeTool('agenda__add', { description: 'Adds a meeting.', filters: true, describe: () => 'Adds something.' }),
  ]
  const request = { ...options, signal: new AbortController().signal }
  assert.deepEqual(names(await find('meeting', tools, request)), ['agenda__add'])
  while (search.progress().some(({ state }) => state !== 'ready')) await new Promise((resolve) => setTimeout(resolve, 2))
  assert.deepEqual(names(await find('write a letter', tools, request)), ['outbox__send'])
  assert.deepEqual(names(await find('an appointment', tools, request)), ['agenda__add'])
  const filters: DataFilter[] = [{ tool: 'agenda__add', key: 'team', type: 'equals', value: 'North' }]
  assert.deepEqual(names(await find('an appointment', tools, { ...request, filters })), [])
  assert.deepEqual(names(await find('write a letter', tools.slice(1), request)), [])
  await close()
  assert.deepEqual(search.progress(), [])
})
