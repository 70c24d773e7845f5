import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newDraft, toExperiment, type Draft } from './draft.ts'

const send = (part: Partial<Draft>) => toExperiment('d1', { ...newDraft, ...part })

test('a new experiment replays with the configuration in use, and has no field that was not chosen', () => {
  assert.deepEqual(send({}), { dataset_id: 'd1', repetitions: 1, tools: { on_miss: 'fail', live: [] } })
})

test('each kind of variant is sent alone, whatever was written for another kind', () => {
  const all = { baselineVersion: 'v1', candidateVersion: 'v2', text: 'name: x', patch: { name: 'y' } }
  const sent = (part: Partial<Draft>) => {
    const { baseline, candidate } = send({ ...all, ...part })!
    return [baseline, candidate]
  }
  assert.deepEqual(sent({}), [undefined, undefined])
  assert.deepEqual(sent({ baseline: 'recorded', candidate: 'version' }), [{ recorded: true }, { version: 'v2' }])
  assert.deepEqual(sent({ baseline: 'version', candidate: 'text' }), [{ version: 'v1' }, { text: 'name: x' }])
  assert.deepEqual(sent({ candidate: 'patch' }), [undefined, { patch: { name: 'y' } }])
})

test('an experiment with a missing part is not sent', () => {
  const missing: Partial<Draft>[] = [
    { baseline: 'version' },
    { candidate: 'version' },
    { candidate: 'text' },
    { candidate: 'text', text: ' \n' },
    { candidate: 'patch' },
    { candidate: 'patch', patch: ['a'] },
    { candidate: 'patch', patch: null },
    { repetitions: 0 },
    { repetitions: 11 },
    { repetitions: 1.5 },
  ]
  for (const part of missing) assert.equal(send(part), undefined, JSON.stringify(part))
})

test('tools read live only where a miss is answered live', () => {
  assert.deepEqual(send({ onMiss: 'error', live: ['look'] })?.tools, { on_miss: 'error', live: [] })
  assert.deepEqual(send({ onMiss: 'live', live: ['look'] })?.tools, { on_miss: 'live', live: ['look'] })
})
