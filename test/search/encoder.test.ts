import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { cosine, toByteVector } from '../../src/search/vectors.ts'
import { createEncoder, isEncoderInstalled } from '../../src/search/encoder/encoder.ts'

const encoder = createEncoder()
after(() => encoder.close())
const signal = new AbortController().signal

test('texts of one meaning are nearer than texts of another, and keep nearly their cosine as bytes', async () => {
  assert.ok(isEncoderInstalled())
  const texts = ['How much holiday do I get?', 'Everybody has 25 days of annual leave.', 'The printer is on the second floor.']
  const lists = await encoder.embed(texts, signal)
  assert.deepEqual(
    lists.map((list) => list.length),
    [512, 512, 512],
  )
  const [question, near, far] = lists.map(toByteVector)
  assert.ok(cosine(question!, near!) > cosine(question!, far!) + 0.1)
  const exact = lists[0]!.reduce((sum, value, index) => sum + value * lists[1]![index]!, 0)
  assert.ok(Math.abs(cosine(question!, near!) - exact) < 0.01)
})

test('empty, long and damaged texts have vectors too', async () => {
  const lists = await encoder.embed(['', ' \n ', 'leave '.repeat(5000), '\ud800', '年次休暇'], signal)
  assert.ok(lists.every((list) => list.length === 512 && list.every(Number.isFinite)))
})

test('an idle process is ended, and starts again with the next text', async () => {
  const brief = createEncoder({ idleMs: 1 })
  await brief.embed(['leave'], signal)
  await new Promise((resolve) => setTimeout(resolve, 30))
  assert.equal((await brief.embed(['leave'], signal)).length, 1)
  await brief.close()
  await assert.rejects(brief.embed(['leave'], signal), /closed/)
})
