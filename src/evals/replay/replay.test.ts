import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Example } from '../example.ts'
import { ann, recordRun, toStored, type Recorded } from '../recorded-run-fixture.ts'
import { replay } from './replay.ts'

/** Every change is tried on 60 runs; `REPLAYED_RUNS=300` takes half a minute. */
const runs = Number(process.env['REPLAYED_RUNS'] ?? 60)

const { signal } = new AbortController()

/** What a run has, by the kinds that the test claims to cover. */
function kindsOf({ events, recorded }: Recorded, { recording, media }: Example): string[] {
  const calls = recording.filter(({ status }) => status !== 'unknown')
  const kinds: Record<string, boolean> = {
    'failed call': calls.some(({ status }) => status === 'error'),
    'null result': calls.some(({ output, status }) => output === null && status === 'success'),
    'changed input': calls.some(({ decision }) => decision?.input !== undefined),
    rejection: calls.some(({ decision }) => decision?.decision === 'reject'),
    'nested call': calls.some(({ parent }) => parent !== null),
    'two calls of a sub-agent': calls.filter(({ tool }) => tool === 'sub_agent:a').length > 1,
    file: calls.some(({ artifacts }) => artifacts !== undefined),
    picture: calls.some(({ pictures }) => pictures !== undefined),
    'question with a picture': media !== undefined && '' in media.images,
    'picture of an earlier turn': Object.keys(media?.files ?? {}).length > 0,
    plan: events.some((event) => event.type === 'step_start' && event.step.type === 'planning'),
    retry: events.some(({ type }) => type === 'retrying'),
    schema: recorded.run.log?.hasSchema === true,
    'message to the run': events.some(({ type }) => type === 'user_message'),
    wait: events.some(({ type }) => type === 'interrupt'),
    write: calls.some(({ effect }) => effect === 'write'),
  }
  return Object.keys(kinds).filter((kind) => kinds[kind])
}

test(`${runs} runs of every kind replay byte by byte, and reach no tool and no model`, async () => {
  const counts = new Map<string, number>()
  for (let seed = 1; seed <= runs; seed++) {
    const recorded = await recordRun(seed)
    const { agent, model, receiver, events, ports } = recorded
    const { example, readMedia } = await toStored(recorded)
    const before = [model.calls, receiver.calls.length]
    const replayed = await replay({ example, agent, isRecorded: true, owner: ann, requestId: 'replay', signal }, { ...ports, readMedia })
    const fault = `with seed ${seed}: ${JSON.stringify(replayed.divergence)}`
    assert.equal(JSON.stringify(replayed.events), JSON.stringify(events), fault)
    assert.deepEqual([replayed.isEqual, replayed.divergence], [true, undefined], fault)
    assert.deepEqual([model.calls, receiver.calls.length], before, fault)
    assert.equal(replayed.writes.filter(({ recorded: isRecorded }) => !isRecorded).length, 0, fault)
    for (const kind of kindsOf(recorded, example)) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  // The runs are of the kinds that the title says.
  assert.equal(counts.size, 16, JSON.stringify([...counts]))
})
