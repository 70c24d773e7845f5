import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Image } from '../agent/messages.ts'
import type { ModelRequest } from '../agent/model.ts'
import { agentOf, newRun } from '../runs/process-fixture.ts'
import { exampleFromRun } from './from-run.ts'
import { maxMediaBytes, withMedia } from './media.ts'
import { FunctionModel, Receiver, toolsOf } from './recorded-parts-fixture.ts'
import { ann, imageOf, modelOfTurns, record, toStored } from './recorded-run-fixture.ts'
import { replay } from './replay/replay.ts'

const { signal } = new AbortController()
const draw = [{ name: 'draw', arguments: '{}' }]

/** A run with a picture in its question, one of a tool, and both in the turn before. */
async function recordPictures(question: Image = imageOf('question')) {
  const requests: ModelRequest[] = []
  const model = modelOfTurns([], [], draw)
  const watched = new FunctionModel((request) => {
    requests.push(request)
    return model.answer(request)
  }, model)
  const receiver = new Receiver()
  const agent = agentOf({ model: watched, tools: toolsOf(receiver, () => 0) })
  const request = { ...newRun('r').request, images: [{ name: 'a.png', mediaType: 'image/png' }] }
  const recorded = await record({ agent, model: watched, receiver, request, images: [question], earlier: modelOfTurns(draw) })
  return { recorded, requests, agent }
}

const imagesIn = ({ messages }: ModelRequest) =>
  messages.flatMap((message) => ('images' in message ? message.images!.map(({ data }) => Buffer.from(data, 'base64').toString()) : []))

test('a replay shows the pictures of the question, of tools and of earlier turns, from copies alone', async () => {
  const { recorded, requests, agent } = await recordPictures()
  const { example, readMedia, media } = await toStored(recorded)
  await replay({ example, agent, owner: ann, requestId: 'replay', signal }, { ...recorded.ports, readMedia })
  const pictures = ['earlier', '\u0001', 'question']
  assert.deepEqual(requests.map(imagesIn), [pictures, [...pictures, '\u0002'], pictures, [...pictures, '\u0002']])
  assert.deepEqual([media.length, example.reduced], [4, undefined])
  assert.doesNotMatch(JSON.stringify(example), /cXVlc3Rpb24/)
})

test('a picture that is gone makes the example reduced, and the others are shown', async () => {
  const { recorded, requests, agent } = await recordPictures()
  recorded.media = { ...recorded.media, readArtifact: async () => undefined, mediaBytes: async () => new Map() }
  const { example, readMedia } = await toStored(recorded)
  assert.equal(example.reduced, true)
  requests.length = 0
  await replay({ example, agent, owner: ann, requestId: 'replay', signal }, { ...recorded.ports, readMedia })
  assert.deepEqual(requests.map(imagesIn), [
    ['earlier', 'question'],
    ['earlier', 'question'],
  ])
})

test('an example has at most 20 MB of media, those of the question first', async () => {
  const large = { mediaType: 'image/png', data: Buffer.alloc(maxMediaBytes - 1).toString('base64') }
  const { recorded } = await recordPictures(large)
  const { recorded: run, media: ports } = recorded
  const { example, media } = await withMedia(exampleFromRun(run, { id: 'e', name: 'e', configVersion: '1' }), run, ports)
  assert.deepEqual([example.media!.images[''], example.reduced], [[{ mediaType: 'image/png', sha256: media[0]!.hash }], true])
  assert.deepEqual(
    media.map(({ data }) => Buffer.byteLength(data, 'base64')),
    [maxMediaBytes - 1, 1],
  )
})
