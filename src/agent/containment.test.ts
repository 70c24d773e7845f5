import assert from 'node:assert/strict'
import { test } from 'node:test'
import { equalCalls, humanTextsIn, isListed, refusalText, stricterHold, stricterPolicy, toSink } from './containment.ts'
import type { Message, Taint } from './messages.ts'
import { cleanTaint, joinTaints, taintOfDescriptions, taintOfMessages, type ContainmentPolicy } from './taint.ts'
import type { Destination, Tool, ToolMarks } from './tool.ts'

const trusted: ToolMarks = { trust: 'trusted', private: false, outbound: false }
const page: Taint = { sources: [{ tool: 'web_page', callId: 'c1', host: 'site' }], isPrivate: false }
const secret: Taint = { sources: [], isPrivate: true }

function toolOf(name: string, traits: Partial<Tool> = {}): Tool {
  return {
    name,
    description: '',
    schema: {},
    effect: 'read',
    filters: false,
    timeoutMs: 1,
    maxOutputCharacters: 1,
    check: () => undefined,
    execute: async () => null,
    ...traits,
  }
}

function verdictOf(tool: Tool, shown: Taint, { url, ...policy }: Partial<ContainmentPolicy> & { url?: string } = {}, said = '') {
  const whole = { afterUntrusted: 'approve', outbound: 'refuse', outboundHosts: [], ...policy } as const
  const messages: Message[] = [{ role: 'user', text: said }]
  return toSink(tool, url === undefined ? {} : { url }, shown, { containment: { policy: whole, inherited: cleanTaint }, messages })?.verdict
}

const reader = (traits: Partial<Destination> = {}) =>
  toolOf('web_page', {
    marks: { ...trusted, outbound: true },
    destinationOf: ({ url }) => ({ url: String(url), isSafe: true, isBare: true, ...traits }),
  })

test('a write is held after text of strangers alone, and an unmarked tool counts as the strictest', () => {
  const write = toolOf('refund', { effect: 'write', marks: trusted })
  assert.equal(verdictOf(write, page), 'approve')
  assert.equal(verdictOf(write, secret), undefined)
  assert.equal(verdictOf(write, cleanTaint), undefined)
  assert.equal(verdictOf(toolOf('look', { marks: trusted }), joinTaints(page, secret)), undefined)
  assert.equal(verdictOf(toolOf('unmarked'), joinTaints(page, secret)), 'refuse')
})

test('text leaves freely before private data was shown, to a listed host, and to an address that a person wrote', () => {
  const both = joinTaints(page, secret)
  const url = 'http://evil/?d=1'
  assert.equal(verdictOf(reader(), page, { url }), undefined)
  assert.equal(verdictOf(reader(), both, { url }), 'refuse')
  assert.equal(verdictOf(reader(), both, { url, outboundHosts: ['evil'] }), 'allow')
  assert.equal(verdictOf(reader(), both, { url }, 'Read http://evil/?d=1, please'), undefined)
  assert.equal(verdictOf(reader(), both, { url }, 'Read http://evil/, please'), 'refuse')
  assert.equal(verdictOf(reader(), both, { url: 'not an address' }), 'refuse')
})

test('a call that needs no list is not limited to the hosts of the list', () => {
  const listed = { url: 'http://friend/', outboundHosts: ['friend'] }
  assert.equal(verdictOf(reader(), page, listed), undefined)
  assert.equal(verdictOf(reader(), joinTaints(page, secret), listed, 'Read http://friend/'), undefined)
  const write = { ...reader({ isSafe: false }), effect: 'write' as const }
  const options = {
    messages: [],
    containment: { policy: { afterUntrusted: 'refuse', outbound: 'allow', outboundHosts: ['friend'] }, inherited: cleanTaint },
  } as const
  assert.equal(toSink(write, { url: 'http://friend/' }, page, { ...options, messages: [] })?.staysInside, true)
  assert.equal(toSink(reader(), { url: 'http://friend/' }, joinTaints(page, secret), { ...options, messages: [] })?.staysInside, undefined)
})

test('words of a person are the question and the messages to the run, but no instruction of the loop', () => {
  const messages: Message[] = [
    { role: 'user', text: 'Read http://earlier/' },
    { role: 'user', text: 'Read http://a/', parts: { question: 'Read http://b/' } },
    { role: 'user', text: 'Step 1: read http://evil/', instruction: 'step' },
    { role: 'user', text: 'And http://c/', steer: { id: 'm', position: 1, rank: 1 } },
  ]
  assert.deepEqual(humanTextsIn(messages), ['Read http://b/', 'And http://c/'])
})

test('headers and bodies of a request are text of the model, whatever its address', () => {
  const both = joinTaints(page, secret)
  assert.equal(verdictOf(reader({ isBare: false }), both, { url: 'http://a/' }, 'http://a/'), 'refuse')
  const writing = { ...reader({ isSafe: false }), effect: 'write' as const }
  assert.equal(verdictOf(writing, page, { url: 'http://a/' }, 'http://a/'), 'approve')
})

test('a host is listed by its name, with its subdomains after a star, and with the usual port', () => {
  const hosts = ['a.example', '*.b.example', 'c.example:8443']
  for (const url of ['https://a.example/x', 'http://A.EXAMPLE/', 'https://x.b.example/', 'https://c.example:8443/']) {
    assert.equal(isListed(url, hosts), true, url)
  }
  for (const url of ['https://a\u3002example/', 'https://\uff41.example/', 'https://a.ex\nample/'])
    assert.equal(isListed(url, hosts), true, 'the client reads the same address')
  const foreign = [
    'https://\u0430.example/',
    'https://a.example./',
    'https://evil/a.example',
    'https://evil#a.example',
    'https://evil\\@a.example/',
    'https://a.example:8443/',
    'https://a.example.evil/',
    'https://b.example/',
    'https://xb.example/',
    'https://c.example/',
  ]
  for (const url of [...foreign, 'https://a.example@evil/', 'ftp://a.example/', 'a.example']) assert.equal(isListed(url, hosts), false, url)
})

test('descriptions of a server hold the calls of others, but none of the same server', () => {
  const server = toolOf('mail__send', { effect: 'write', marks: { ...trusted, describedBy: 'mail' } })
  const shown = taintOfDescriptions([server])
  assert.equal(verdictOf(server, shown), undefined)
  assert.equal(verdictOf(toolOf('refund', { effect: 'write', marks: trusted }), shown), 'approve')
})

test('a description of a server does not carry private data of others to the same server', () => {
  const server = toolOf('mail__look', { marks: { ...trusted, outbound: true, describedBy: 'mail' } })
  const shown = taintOfDescriptions([server])
  assert.equal(verdictOf(server, shown), undefined)
  assert.equal(verdictOf(server, joinTaints(shown, secret)), 'refuse')
})

test('a description with data of strangers is text of strangers', () => {
  const describe = () => 'a value of the table'
  const table = toolOf('complaints', { describe, marks: { ...trusted, trust: 'untrusted' } })
  assert.deepEqual(taintOfDescriptions([table]).sources, [{ tool: 'complaints', entry: 'complaints' }])
  assert.deepEqual(taintOfDescriptions([toolOf('sales', { describe, marks: trusted })]).sources, [])
})

test('a result without stored taint is judged by its tool, and by the strictest marks where the tool is gone', () => {
  const message: Message = { role: 'tool', callId: 'c', name: 'look', text: '', isError: true }
  const tools = new Map([['look', toolOf('look', { marks: trusted })]])
  assert.deepEqual(taintOfMessages([message], tools), cleanTaint)
  assert.deepEqual(taintOfMessages([message], new Map()), { sources: [{ tool: 'look', callId: 'c' }], isPrivate: true })
  assert.deepEqual(taintOfMessages([{ ...message, taint: page }], tools), page)
})

test('the stricter of two policies, and of two holds, counts', () => {
  const a: ContainmentPolicy = { afterUntrusted: 'approve', outbound: 'allow', outboundHosts: ['a', 'b'] }
  const b: ContainmentPolicy = { afterUntrusted: 'allow', outbound: 'refuse', outboundHosts: ['b'] }
  assert.deepEqual(stricterPolicy(a, b), { afterUntrusted: 'approve', outbound: 'refuse', outboundHosts: ['b'] })
  assert.deepEqual(stricterPolicy(undefined, b), b)
  assert.equal(stricterPolicy(a, { ...b, stripsImages: true })?.stripsImages, true)
  const [refuse, approve] = [
    { verdict: 'refuse' as const, sources: [] },
    { verdict: 'approve' as const, sources: [] },
  ]
  assert.equal(stricterHold(refuse, approve), refuse)
  assert.equal(stricterHold(approve, refuse), refuse)
  assert.equal(stricterHold(approve, undefined), approve)
})

test('equal calls have the same name and the same text of arguments', () => {
  const held = { verdict: 'approve' as const, sources: [] }
  const call = (id: string, input: string) => ({ id, name: 'refund', arguments: input, held })
  const messages: Message[] = [
    { role: 'assistant', text: '', toolCalls: [call('1', '{"a":1}'), call('2', '{"a": 1}'), call('3', '{"a":1}')] },
  ]
  assert.deepEqual(
    equalCalls(call('3', '{"a":1}'), messages).map(({ id }) => id),
    ['1'],
  )
})

test('a refusal names the sources, each once', () => {
  assert.equal(
    refusalText([{ tool: 'web_page', callId: '1', host: 'a' }, { tool: 'web_page', callId: '2', host: 'a' }, { tool: 'memory' }]),
    'refused, because the run has read untrusted content: web_page (a), memory',
  )
})
