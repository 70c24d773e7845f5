import type { Tool } from '../../src/agent/tool.ts'
import type { ModelAnswer } from '../fixtures/model-server.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

/** One run that each door shows in its own way. The question of the run is the name of the scenario. */
export interface Scenario {
  /** Answers of the model, turn by turn; the last one repeats. */
  turns: ModelAnswer[]
  /** What the client does when the run waits for it. */
  answer?: Answer
  /** A tool of the client, which the chat brings. */
  clientTool?: boolean
  /** The answer must fit `answerSchema`. */
  schema?: boolean
}

export type Answer = 'approve' | 'reject' | 'edit' | 'output' | 'error'

export const answerSchema = {
  type: 'object',
  properties: { colour: { type: 'string' }, count: { type: 'integer' } },
  required: ['colour', 'count'],
  additionalProperties: false,
}

export const clientToolSchema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }

const twice = (name: string, ...inputs: object[]) => ({ calls: inputs.flatMap((input) => callOf(name, input).calls) })
const said = (text: string, more: ModelAnswer = {}): ModelAnswer => ({ text, usage: { input: 12, output: 5 }, ...more })
const place = callOf('get_place', { city: 'Basel' })
const broken: ModelAnswer = { text: 'Half', breakAfter: 2 }

/** Answers arrive in one write each, so that the same text is the same event in every run. */
export const scenarios: Record<string, Scenario> = {
  text: { turns: [said('It is blue.')] },
  'long text': { turns: [said('All work and no play. '.repeat(40))] },
  'other alphabets': { turns: [said('Grüße, 世界 👩‍👩‍👧 \u2028 "quoted" \\ <b>&amp;')] },
  markdown: { turns: [said('# Title\n\n- one\n- two\n\n```js\nconst a = `1`\n```\n')] },
  'line ends': { turns: [said('one\r\ntwo\n\nthree\n')] },
  reasoning: { turns: [said('Blue.', { reasoning: 'The sky is blue.' })] },
  'reasoning alone, then a call': { turns: [{ ...callOf('look', { at: 'sky' }), reasoning: 'I look.' }, said('Blue.')] },
  'one call': { turns: [callOf('look', { at: 'sky' }), said('Blue.')] },
  'text before a call': { turns: [{ ...callOf('look', { at: 'sky' }), text: 'Let me see.' }, said('Blue.')] },
  'calls in parallel': { turns: [twice('look', { at: 'sky' }, { at: 'sea' }), said('Both are blue.')] },
  'calls of two tools': { turns: [{ calls: [...callOf('look').calls, ...callOf('count', { of: [1, 2] }).calls] }, said('Two.')] },
  'calls over three turns': { turns: [callOf('look', { at: 'a' }), callOf('count', {}), callOf('look', { at: 'b' }), said('Done.')] },
  'a failed call': { turns: [callOf('fail', { why: 'test' }), said('It failed.')] },
  'an unknown tool': { turns: [callOf('nothing', {}), said('There is none.')] },
  'wrong arguments': { turns: [callOf('send', { to: 1 }), said('Wrong.')] },
  'arguments that are no JSON': { turns: [{ calls: [{ name: 'look', arguments: '{"at": ' }] }, said('Broken.')] },
  'a null result': { turns: [callOf('nullify', {}), said('Nothing.')] },
  'a long result': { turns: [callOf('fill', {}), said('Long.')] },
  'a file': { turns: [callOf('draw', { name: 'plan.svg' }), said('Here is the plan.')] },
  'two files': { turns: [twice('draw', { name: 'a.svg' }, { name: 'b.svg' }), said('Two plans.')] },
  citations: { turns: [callOf('find', {}), said('Returns are free within thirty days of the delivery.')] },
  'an approved call': { turns: [{ ...callOf('send', { to: 'Bob' }), text: 'One moment.' }, said('Sent.')], answer: 'approve' },
  'a rejected call': { turns: [callOf('send', { to: 'Bob' }), said('Not sent.')], answer: 'reject' },
  'an edited call': { turns: [callOf('send', { to: 'Bob' }), said('Sent to another.')], answer: 'edit' },
  'two approved calls': { turns: [twice('send', { to: 'Bob' }, { to: 'Eve' }), said('Sent to both.')], answer: 'approve' },
  'a call beside an approved call': {
    turns: [{ calls: [...callOf('look', { at: 'sky' }).calls, ...callOf('send', { to: 'Bob' }).calls] }, said('Seen and sent.')],
    answer: 'approve',
  },
  'two approvals in a row': { turns: [callOf('send', { to: 'Bob' }), callOf('send', { to: 'Eve' }), said('Both.')], answer: 'approve' },
  'an approval after reasoning': { turns: [{ ...callOf('send', { to: 'Bob' }), reasoning: 'I write.' }, said('Sent.')], answer: 'approve' },
  'a call of the client': { turns: [place, said('It rains in Basel.')], clientTool: true, answer: 'output' },
  'a failed call of the client': { turns: [place, said('No place.')], clientTool: true, answer: 'error' },
  'text before a call of the client': { turns: [{ ...place, text: 'I ask.' }, said('It rains.')], clientTool: true, answer: 'output' },
  'a call beside a call of the client': {
    turns: [{ calls: [...callOf('look', { at: 'sky' }).calls, ...place.calls] }, said('Both.')],
    clientTool: true,
    answer: 'output',
  },
  'a tool of the client that is not called': { turns: [said('No need.')], clientTool: true },
  'an answer with a schema': { turns: [said('{"colour":"blue","count":2}')], schema: true },
  'a repaired answer': { turns: [said('{"colour":"blue"}'), said('{"colour":"blue","count":2}')], schema: true },
  'an answer that never fits': { turns: [said('no JSON')], schema: true },
  'a schema behind a call': { turns: [callOf('look', {}), said('{"colour":"red","count":1}')], schema: true },
  'an answer that is cut off': { turns: [said('It is', { finish: 'length' })] },
  'a filtered answer': { turns: [said('I can', { finish: 'content_filter' })] },
  'the last permitted call': { turns: [callOf('look', { at: 'again' })] },
  'a text and the last permitted call': { turns: [{ ...callOf('look', { at: 'again' }), text: 'Once more.' }] },
  'a broken stream, tried again': { turns: [broken, said('Whole.')] },
  'a broken stream behind a call': { turns: [callOf('look', {}), broken, said('Whole.')] },
  'a busy model, tried again': {
    turns: [{ status: 429, body: { error: { message: 'busy' } }, headers: { 'retry-after': '0' } }, said('Now.')],
  },
  'a model that refuses': { turns: [{ status: 400, body: { error: { message: 'bad request' } } }] },
  'a model that refuses behind a call': { turns: [callOf('look', {}), { status: 400, body: { error: { message: 'bad request' } } }] },
  'a model that refuses behind a text': {
    turns: [
      { ...callOf('look', {}), text: 'Let me see.' },
      { status: 400, body: { error: { message: 'bad request' } } },
    ],
  },
  'a model whose streams all break': { turns: [broken] },
  'an error in the stream': { turns: [{ text: 'Half', chunks: [{ error: { message: 'overloaded', code: 503 } }], finish: null }] },
  'an answer of nothing': { turns: [{ text: '' }] },
  'an answer of blanks': { turns: [{ text: ' \n' }, said('Now.')] },
  'cached tokens': { turns: [said('Blue.', { usage: { input: 100, output: 5, cached: 80, reasoning: 3 } })] },
}

const passage = {
  ...{ file: 'returns.md', heading: 'Returns', start: 0, end: 54 },
  text: 'Returns are free within thirty days of the delivery.',
}

let drawing: Promise<unknown> = Promise.resolve()

export const tools: Tool[] = [
  fakeTool('look', async ({ at }) => ({ seen: at ?? null })),
  fakeTool('count', async ({ of }) => (Array.isArray(of) ? of.length : 0)),
  fakeTool('fail', () => Promise.reject(new Error('The tool is out of order.'))),
  fakeTool('nullify', async () => null),
  fakeTool('fill', async () => 'x'.repeat(600), { maxOutputCharacters: 500 }),
  fakeTool('find', async () => ({ passages: [passage] })),
  fakeTool('draw', ({ name }, { artifact }) => {
    // Files have the order of their storage, so one is stored after the other.
    const drawn = (drawing = drawing.then(() => artifact(String(name), 'image/svg+xml', Buffer.from('<svg/>'))))
    return drawn.then(() => 'drawn')
  }),
  fakeTool('send', async ({ to }) => `sent to ${String(to)}`, {
    effect: 'write',
    approval: { by: 'caller' },
    schema: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'], additionalProperties: false },
  }),
]
