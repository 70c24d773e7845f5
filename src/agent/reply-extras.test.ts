import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Artifact, NewArtifact } from './messages.ts'
import { eventsOf, optionsOf, story } from './react-fixture.ts'
import { say, ScriptedModel, texts } from './scripted-model.ts'
import { toSources } from './provider-steps.ts'

const picture = { mediaType: 'image/png', data: Buffer.from('PNG').toString('base64') }

function keeping() {
  const kept: NewArtifact[] = []
  const keepArtifact = async (file: NewArtifact): Promise<Artifact> => {
    if (file.name.startsWith('audio')) throw new Error(`${file.name} was not kept.`)
    kept.push(file)
    return { id: `a${kept.length}`, name: file.name, type: file.type, size: file.bytes.length, sha256: '', tool: file.tool, createdAt: 1 }
  }
  return { kept, keepArtifact }
}

test('files of the model are kept before its turn, also without a text', async () => {
  const { kept, keepArtifact } = keeping()
  const model = new ScriptedModel({ events: [], reply: { files: [picture, { ...picture, mediaType: 'image/jpeg' }] } })
  const options = optionsOf(model, { keepArtifact })
  const keptAtTurn: number[] = []
  const events = await eventsOf(options, ({ type }) => type === 'turn' && keptAtTurn.push(kept.length))
  assert.deepEqual(story(events), ['turn', 'end: stop'])
  assert.deepEqual(keptAtTurn, [2])
  assert.deepEqual(
    kept.map(({ name, type, tool, bytes }) => [name, type, tool, String(bytes)]),
    [
      ['image-1.png', 'image/png', 'scripted-1', 'PNG'],
      ['image-2.jpg', 'image/jpeg', 'scripted-1', 'PNG'],
    ],
  )
  const last = options.messages.at(-1)
  assert.deepEqual(last?.role === 'assistant' && last.artifacts?.map(({ id }) => id), ['a1', 'a2'])
})

test('the answer says which file could not be kept, and the other files stay', async () => {
  const { kept, keepArtifact } = keeping()
  const sound = { ...picture, mediaType: 'audio/wav' }
  const options = optionsOf(new ScriptedModel({ events: texts('Here.'), reply: { files: [sound, picture] } }), { keepArtifact })
  await eventsOf(options)
  assert.equal(options.messages.at(-1)?.text, 'Here.\n[audio-1.wav was not kept.]')
  assert.deepEqual(
    kept.map(({ name }) => name),
    ['image-2.png'],
  )
})

test('a run that resumes behind an answer of files alone has its answer', async () => {
  const { keepArtifact } = keeping()
  const artifacts = [await keepArtifact({ name: 'image-1.png', type: 'image/png', bytes: new Uint8Array(), tool: 'm' })]
  const answered = { role: 'assistant' as const, text: '', toolCalls: [], artifacts }
  const options = optionsOf(new ScriptedModel(), { messages: [{ role: 'user', text: 'Draw.' }, answered] })
  assert.deepEqual(story(await eventsOf(options)), ['end: stop'])
})

test('sources are bounded, their places lie in the text, and only web addresses stay', () => {
  const url = 'https://a.example/1'
  const sources = [
    { url, title: 'x'.repeat(500), text: 'y'.repeat(5000), start: 0, end: 4 },
    { url: 'javascript:alert(1)', title: 'Bad' },
    { url: 'data:text/html,x', title: '' },
    { url, title: 'Outside', start: 3, end: 99 },
    ...Array.from({ length: 100 }, () => ({ url, title: 'More' })),
  ]
  const [first, second, third, ...rest] = toSources({ text: 'Text', sources })!
  assert.deepEqual([first?.title.length, first?.text?.length, first?.start, first?.end], [300, 2000, 0, 4])
  assert.deepEqual(second, { title: 'Bad' })
  assert.deepEqual(third, { url, title: 'Outside' })
  assert.equal(rest.length, 46)
  assert.equal(toSources({ text: '' }), undefined)
})

test('the sources of a reply are with its message', async () => {
  const source = { url: 'https://a.example/', title: 'A', start: 0, end: 2 }
  const options = optionsOf(new ScriptedModel({ ...say('So it is.'), reply: { sources: [source] } }))
  await eventsOf(options)
  assert.deepEqual(options.messages.at(-1), { role: 'assistant', text: 'So it is.', toolCalls: [], sources: [source] })
})
