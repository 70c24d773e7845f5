import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StreamResponse, TaskState, type Task } from '@a2a-js/sdk'
import type { PendingCall } from '../../../agent/approval.ts'
import { EventLog } from '../../../runs/log/event-log.ts'
import type { OpenRun } from '../../../runs/open-run.ts'
import type { LoggedEvent } from '../../../runs/run.ts'
import { approval, end, failed, file, interrupt, project, recorded, text, unlinked, waiting } from '../events-fixture.ts'
import { follow, subscribe, TaskProjection } from './projection.ts'
import { newTask } from './tasks.ts'

const run = { requestId: 'r', sessionId: 's' }

/** An update in a few words: the state with its text, or the artifact with its parts. */
function inWords({ payload }: StreamResponse): unknown {
  switch (payload?.$case) {
    case 'statusUpdate': {
      const { status, metadata } = payload.value
      const parts = status?.message?.parts.map(({ content }) => content?.value) ?? []
      return [TaskState[status!.state], ...parts, ...(metadata ? [metadata['finish_reason']] : [])]
    }
    case 'artifactUpdate': {
      const { artifact, append, lastChunk } = payload.value
      const parts = artifact!.parts.map(({ content }) => content?.value)
      return [artifact!.artifactId, ...parts, append ? 'appended' : 'new', ...(lastChunk ? ['last'] : [])]
    }
    case 'task':
      return ['task', ...payload.value.artifacts.flatMap(({ parts }) => parts.map(({ content }) => content?.value))]
    default:
      return payload?.$case
  }
}

const updatesOf = (events: readonly LoggedEvent[], projection = new TaskProjection(run)) =>
  project(projection, events, [file, unlinked]).map(inWords)

const [working, completed] = ['TASK_STATE_WORKING', 'TASK_STATE_COMPLETED']
const linked = ['f1', 'http://s/f1', 'new', 'last']

test('the answer grows; files with a link are artifacts, and the status is last', () => {
  assert.deepEqual(updatesOf(recorded.text), [['answer', 'Hel', 'new'], ['answer', 'lo.', 'appended'], linked, [completed, 'stop']])
})

test('thoughts are not sent, and an answer behind another event replaces the one before', () => {
  assert.deepEqual(updatesOf(recorded.reasoning), [['answer', 'Yes.', 'new'], linked, [completed, 'stop']])
  assert.deepEqual(updatesOf(recorded.retry).slice(0, 2), [
    ['answer', 'Hel', 'new'],
    ['answer', 'Hello.', 'new'],
  ])
})

test('each step is a status with an id of its own, in the order of the events', () => {
  assert.deepEqual(updatesOf(recorded['tools in parallel']).slice(1, 6), [
    [working, 'look has started.'],
    [working, 'count has started.'],
    [working, 'count has ended: success.'],
    [working, 'look has ended: success.'],
    ['answer', 'Two.', 'new'],
  ])
  const updates = project(new TaskProjection(run), recorded['tools in parallel'])
  const ids = updates.flatMap(({ payload }) => (payload?.$case === 'statusUpdate' ? [payload.value.status?.message?.messageId] : []))
  assert.deepEqual(ids, ['r:status:1', 'r:status:2', 'r:status:3', 'r:status:4', undefined])
})

test('a run that waits has the calls as data, for approval and for the client', () => {
  const [, update] = updatesOf(recorded.approval) as [unknown, unknown[]]
  assert.equal(update[0], 'TASK_STATE_INPUT_REQUIRED')
  assert.match(String(update[1]), /^Approval is required: send {"to":"Bob"}/)
  assert.deepEqual(Object.keys(update[2] as object), ['approval_required'])
  assert.equal(update[3], 'approval_required')
  const [both] = updatesOf([interrupt(approval, waiting('p', 'client'))]) as [unknown[]]
  assert.deepEqual(Object.keys(both[2] as object), ['approval_required', 'client_tool_calls'])
})

test('the statuses of a part are numbered behind the events that the client has', () => {
  const updates = project(new TaskProjection(run, recorded.approval), recorded['the rest of an approval'])
  const [first] = updates
  assert.ok(first?.payload?.$case === 'statusUpdate')
  assert.equal(first.payload.value.status?.message?.messageId, 'r:status:3')
  assert.deepEqual(updates.map(inWords).slice(2), [
    ['answer', 'Done.', 'new'],
    [completed, 'stop'],
  ])
})

test('a failure is the last status, before the first event and behind a text; so is a cancellation', () => {
  const failure = ['TASK_STATE_FAILED', 'The model is gone.', 'error']
  assert.deepEqual(updatesOf([failed]), [linked, failure])
  assert.deepEqual(updatesOf(recorded.failure), [['answer', 'Hel', 'new'], linked, failure])
  const [state] = updatesOf(recorded.cancel).at(-1) as [string]
  assert.equal(state, 'TASK_STATE_CANCELED')
})

test('an answer with a schema has its value behind the text', () => {
  const events = [text('{"a":'), text('1}'), end({ structured: true })]
  assert.deepEqual(updatesOf(events).slice(1, 3), [
    ['answer', '1}', 'appended'],
    ['answer', { a: 1 }, 'appended'],
  ])
})

/** A run whose log has these events. */
function openRun(events: readonly LoggedEvent[], more: Partial<OpenRun> = {}): OpenRun {
  return { ...run, input: 'Hi', hasSchema: false, log: new EventLog({ events: [...events] }), ended: Promise.resolve(), ...more }
}

async function allOf(updates: AsyncGenerator<StreamResponse>): Promise<unknown[]> {
  const all: unknown[] = []
  for await (const update of updates) all.push(inWords(update))
  return all
}

const options = {
  toFiles: async () => [],
  openCalls: async (): Promise<PendingCall[]> => [approval],
  disconnected: new AbortController().signal,
}

test('a stream begins with the task, and joins pieces of the answer that arrive together', async () => {
  assert.deepEqual(await allOf(follow(openRun(recorded.text), options)), [['task'], ['answer', 'Hello.', 'new'], [completed, 'stop']])
})

test('a subscriber gets the answer so far, the calls that wait, and the run behind the decisions', async () => {
  const task: Task = newTask({ taskId: 'r', contextId: 's' }, 'Hi')
  const whole = openRun([...recorded.approval, ...recorded['the rest of an approval']])
  const waitingRun = openRun(recorded.approval, { whenResumed: async () => whole })
  const updates = await allOf(subscribe({ ...options, task, open: async () => waitingRun }))
  assert.deepEqual(updates[0], ['task', 'I ask.'])
  assert.equal((updates[1] as unknown[])[0], 'TASK_STATE_INPUT_REQUIRED')
  assert.deepEqual(updates.slice(2), [
    [working, 'send has started.'],
    [working, 'send has ended: success.'],
    ['answer', 'Done.', 'new'],
    [completed, 'stop'],
  ])
})

test('the answer begins anew where the run loses its process while a slow subscriber takes the task', async () => {
  const task: Task = newTask({ taskId: 'r', contextId: 's' }, 'Hi')
  const open = openRun([text('Old text')])
  const updates = subscribe({ ...options, task, open: async () => open })
  assert.deepEqual(inWords((await updates.next()).value!), ['task', 'Old text'])
  open.log.rewind({ restored: 0, restoredAt: 0 }, 0)
  for (const event of [text('New '), text('answer.'), end()]) open.log.append(event)
  assert.deepEqual(await allOf(updates), [
    ['answer', 'New answer.', 'new'],
    [completed, 'stop'],
  ])
})

test('each update is one that the library writes', () => {
  const [update] = project(new TaskProjection(run), recorded.text)
  const json = StreamResponse.toJSON(update!) as { artifactUpdate: { taskId: string; contextId: string } }
  assert.deepEqual([json.artifactUpdate.taskId, json.artifactUpdate.contextId], ['r', 's'])
})
