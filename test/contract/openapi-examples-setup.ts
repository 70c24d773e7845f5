import assert from 'node:assert/strict'
import { signIn } from '../fixtures/browser.ts'
import type { Receiver } from '../fixtures/callback-receiver.ts'
import type { Values } from '../fixtures/documented-operations.ts'
import type { ModelServer } from '../fixtures/model-server.ts'
import type { Client, Reply } from '../fixtures/service-client.ts'

/** What the examples of operations need that name something: it is created first. */
export interface Surroundings {
  admin: Client
  url: string
  key: string
  /** Fails at first, then accepts. */
  receiver: Receiver
  /** Answers as a model for embeddings. */
  embedder: ModelServer
  /** Keeps a reply as an example of an operation. */
  record(operationId: string, name: string, reply: Reply): void
}

type Prepare = (surroundings: Surroundings) => Promise<Values>

const writeQuestion = 'Write "Back at 3" to a file note.txt'

async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  const end = Date.now() + 10_000
  while (Date.now() < end) {
    const value = await look()
    if (value !== undefined) return value
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  throw new Error('It did not happen.')
}

async function firstOf(admin: Client, path: string, list: string): Promise<any> {
  return until(async () => (await admin.request('GET', path)).body[list][0])
}

async function ask(
  { admin }: Surroundings,
  question: string,
  more: object = {},
): Promise<{ reply: Reply; requestId: string; sessionId: string }> {
  const reply = await admin.chat({ messages: [{ role: 'user', content: question }], ...more })
  return { reply, requestId: reply.headers.get('request-id')!, sessionId: reply.headers.get('session-id')! }
}

const byRun: Prepare = async (all) => ({ path: { request_id: (await ask(all, 'What is 2 + 2?')).requestId } })
const bySession: Prepare = async (all) => ({ path: { session_id: (await ask(all, 'What is 2 + 2?')).sessionId } })
const byFile: Prepare = async (all) => {
  await requireApprovals(all, ['write'])
  const { reply, requestId, sessionId } = await ask(all, writeQuestion)
  const body = { tool_call_id: reply.body.approval_required.calls[0].tool_call_id, decision: 'approve' }
  await all.admin.request('POST', `/core/v1/runs/${requestId}/approvals`, { body })
  await until(async () => (await all.admin.request('GET', `/core/v1/runs/${requestId}`)).body.status === 'success' || undefined)
  return { headers: { 'session-id': sessionId } }
}
const byVersion: Prepare = async ({ admin }) => {
  const { version } = await firstOf(admin, '/core/v1/agent/config/history', 'versions')
  return { path: { version }, body: { version, validate_only: true } }
}
const bySubAgent: Prepare = async ({ admin }) => {
  const { id } = await firstOf(admin, '/core/v1/chain/sub_agents', 'sub_agents')
  return { path: { sub_agent_id: id } }
}

/** A schedule that has a fire. */
const bySchedule: Prepare = async ({ admin }) => {
  const request = { messages: [{ role: 'user', content: 'What is 2 + 2?' }] }
  const { body } = await admin.request('POST', '/core/v1/schedules', { body: { cron: '0 9 * * 1', timezone: 'Europe/Berlin', request } })
  assert.equal((await admin.request('POST', `/core/v1/schedules/${body.id}/trigger`)).status, 200)
  return { path: { id: body.id } }
}

/** A dataset with the example of a run. Its name is free for the next one. */
const byExample: Prepare = async (all) => {
  const { admin } = all
  const { requestId } = await ask(all, 'What is 2 + 2?')
  const { body } = await admin.request('POST', '/core/v1/datasets', { body: { name: `core-${requestId}` } })
  const at = `/core/v1/datasets/${body.id}/examples`
  const added = await admin.request('POST', at, { body: { from_run: { request_id: requestId }, tags: ['sums'] } })
  assert.equal(added.status, 201, added.text)
  return { path: { id: body.id, example_id: added.body.id } }
}

/** An ended experiment on the dataset of `byExample`. */
const byExperiment: Prepare = async (all) => {
  const { path: { id: dataset, example_id: example } = {} } = await byExample(all)
  const body = { dataset_id: dataset, baseline: { recorded: true } }
  const { status, text, body: created } = await all.admin.request('POST', '/core/v1/experiments', { body })
  assert.equal(status, 202, text)
  const { id } = created
  await until(async () => (await all.admin.request('GET', `/core/v1/experiments/${id}`)).body.status === 'completed' || undefined)
  return { path: { id, example_id: example! } }
}

async function requireApprovals({ admin }: Surroundings, effects: string[]): Promise<void> {
  const body = { configuration: { approvals: { effects } }, in_memory_only: true }
  const changed = await admin.request('PUT', '/core/v1/agent/config', { body })
  assert.equal(changed.status, 200, changed.text)
}

/** Sets or removes the model for embeddings, in memory. */
export async function configureEmbedding(admin: Client, embedding: object | null): Promise<void> {
  const body = { configuration: { llms: { embedding } }, in_memory_only: true }
  const changed = await admin.request('PUT', '/core/v1/agent/config', { body })
  assert.equal(changed.status, 200, changed.text)
}

/** A run whose call waits for approval. */
async function interrupt(all: Surroundings): Promise<Values> {
  await requireApprovals(all, ['write'])
  const { reply, requestId } = await ask(all, writeQuestion)
  assert.equal(reply.status, 202, reply.text)
  all.record('postChain', 'waits-for-approval', reply)
  const { tool_call_id: id } = reply.body.approval_required.calls[0]
  return { path: { request_id: requestId }, body: { tool_call_id: id, decision: 'approve' } }
}

async function postponeCallback({ admin, receiver }: Surroundings): Promise<Values> {
  const data = { messages: [{ role: 'user', content: 'What is 2 + 2?' }], callback_url: receiver.url }
  const event = { specversion: '1.0', type: 'ai.service.agent.chain', source: 'urn:example:test', id: 'callback', data }
  const accepted = await admin.request('POST', '/core/v1/chain_async', { body: event })
  assert.equal(accepted.status, 200, accepted.text)
  await receiver.reaches(1)
  await until(async () => ((await firstOf(admin, '/core/v1/callbacks', 'callbacks')).attempts.length > 0 ? true : undefined))
  return { path: { request_id: accepted.body.request_id } }
}

/** A run that works for the rest of the test, because it waits for an approval. */
async function waitingRun(all: Surroundings): Promise<Values> {
  return { path: { request_id: (await interrupt(all)).path!['request_id']! } }
}

/** A run that waits for an approval, and has a message. */
async function messagesOfRun(all: Surroundings): Promise<Values> {
  const { path } = await waitingRun(all)
  const body = { message: 'Only the North region, please.' }
  const sent = await all.admin.request('POST', `/core/v1/runs/${path!['request_id']}/messages`, { body })
  assert.equal(sent.status, 202, sent.text)
  return { path }
}

/** A task that waits for an approval. */
async function waitingTask(all: Surroundings): Promise<Values> {
  return { path: { id: (await waitingRun(all)).path!['request_id']! } }
}

/** A waiting task that ends soon, so that the stream of its updates ends. */
async function endingTask(all: Surroundings): Promise<Values> {
  const task = await waitingTask(all)
  setTimeout(() => void all.admin.request('DELETE', `/core/v1/runs/${task.path!['id']}`), 200)
  return task
}

/** A task with a push notification config. */
async function notifiedTask(all: Surroundings): Promise<Values> {
  const { path } = await waitingTask(all)
  const body = { id: 'example', url: all.receiver.url }
  const headers = { 'a2a-version': '1.0' }
  const created = await all.admin.request('POST', `/a2a/v1/tasks/${path!['id']}/pushNotificationConfigs`, { body, headers })
  assert.equal(created.status, 200, created.text)
  return { path: { ...path, configId: 'example' } }
}

const pushConfig = async (all: Surroundings): Promise<Values> => {
  return { ...(await waitingTask(all)), body: { id: 'example', url: all.receiver.url, token: 'a text that the receiver knows' } }
}

/** A run with a budget, and with an override. */
const byBudget: Prepare = async (all) => {
  const budgets = [
    { name: 'caller-day', scope: 'caller', window: 'day', limit: { tokens: 5_000_000 } },
    { name: 'run', scope: 'run', limit: { tokens: 200_000 } },
  ]
  const body = { configuration: { budgets }, in_memory_only: true }
  const changed = await all.admin.request('PUT', '/core/v1/agent/config', { body })
  assert.equal(changed.status, 200, changed.text)
  const subject = (await byRun(all)).path!['request_id']!
  const override = { subject, limit: { tokens: 500_000 }, until: '2099-12-31T23:59:59Z' }
  return { path: { name: 'run' }, query: { subject }, body: override }
}

const byResponse: Prepare = async ({ admin }) => {
  const { body } = await admin.request('POST', '/v1/responses', { body: { model: 'agent-core', input: 'What is 2 + 2?' } })
  return { path: { response_id: body.id } }
}
const byConversation: Prepare = async ({ admin }) => {
  const items = [{ type: 'message', role: 'user', content: 'Call me Ada.' }]
  const { body } = await admin.request('POST', '/v1/conversations', { body: { items, metadata: { topic: 'sales' } } })
  return { path: { conversation_id: body.id } }
}
const byItem: Prepare = async (all) => {
  const { path } = await byConversation(all)
  const id = path!['conversation_id']!
  return { path: { conversation_id: id, item_id: `${id.replace('conv_', 'msg_')}~0` } }
}

const byDocument: Prepare = async ({ url, key }) => {
  const form = new FormData()
  form.set('file', new File(['Guests park behind the house.'], 'parking.txt', { type: 'text/plain' }))
  const reply = await fetch(`${url}/core/v1/knowledge`, { method: 'POST', headers: { authorization: `Bearer ${key}` }, body: form })
  return { path: { document_id: ((await reply.json()) as { id: string }).id } }
}

const byUpload: Prepare = async ({ url, key }) => {
  const body = new FormData()
  body.set('file', new Blob(['The meeting is on Monday.'], { type: 'text/plain' }), 'notes.txt')
  body.set('purpose', 'user_data')
  const reply = await fetch(`${url}/v1/files`, { method: 'POST', headers: { authorization: `Bearer ${key}` }, body })
  return { path: { file_id: ((await reply.json()) as { id: string }).id } }
}

/** A thread with a run of the example, and its ids. */
const byThread: Prepare = async ({ admin }) => {
  const { body: thread } = await admin.request('POST', '/langgraph/threads', { body: {} })
  const question = { messages: [{ type: 'human', content: 'What is 2 + 2?' }] }
  const path = `/langgraph/threads/${thread.thread_id}/runs`
  await admin.request('POST', `${path}/wait`, { body: { assistant_id: 'agent', input: question } })
  const { body: runs } = await admin.request('GET', path)
  return { path: { thread_id: thread.thread_id, run_id: runs[0].run_id, checkpoint_id: '1' } }
}
const byEmptyThread: Prepare = async ({ admin }) => ({
  path: { thread_id: (await admin.request('POST', '/langgraph/threads', { body: {} })).body.thread_id },
})
const byWaitingThread: Prepare = async (all) => {
  const { path } = await waitingRun(all)
  const { body } = await all.admin.request('GET', `/core/v1/runs/${path!['request_id']}`)
  return { path: { thread_id: body.session_id, run_id: path!['request_id']! }, body: { thread_id: body.session_id } }
}

/** How to create what an operation names, by operation id. Each other operation works on the first click. */
export const preparations: Record<string, Prepare> = {
  getSessionsBySessionId: bySession,
  deleteSessionsBySessionId: bySession,
  postSessionsBySessionIdFork: bySession,
  getRunsByRequestId: byRun,
  getRunsByRequestIdStream: async (all) => ({ path: { request_id: (await ask(all, 'What were the total sales by region?')).requestId } }),
  getRunsByRequestIdTrace: byRun,
  getRunsByRequestIdMessages: messagesOfRun,
  postRunsByRequestIdMessages: waitingRun,
  postRunsByRequestIdFeedback: byRun,
  postRunsByRequestIdApprovals: interrupt,
  deleteRunsByRequestId: waitingRun,
  postRunsByRequestIdCallback: postponeCallback,
  postV1Embeddings: async ({ admin, embedder }) => {
    await configureEmbedding(admin, { provider: 'openai-compatible', model: 'text-embedding-3-small', base_url: embedder.url })
    return {}
  },
  deleteMemoriesById: async (all) => {
    await ask(all, 'My name is Ada.', { auto_memory_retain: true })
    return { path: { id: (await firstOf(all.admin, '/core/v1/memories', 'memories')).id } }
  },
  getSchedulesById: bySchedule,
  patchSchedulesById: bySchedule,
  deleteSchedulesById: bySchedule,
  postSchedulesByIdPause: bySchedule,
  postSchedulesByIdResume: bySchedule,
  postSchedulesByIdTrigger: bySchedule,
  getSchedulesByIdFires: bySchedule,
  getDatasetsById: byExample,
  patchDatasetsById: byExample,
  deleteDatasetsById: byExample,
  getDatasetsByIdExamples: byExample,
  postDatasetsByIdExamples: byExample,
  getDatasetsByIdExamplesByExampleId: byExample,
  patchDatasetsByIdExamplesByExampleId: byExample,
  deleteDatasetsByIdExamplesByExampleId: byExample,
  postExperiments: async (all) => ({ body: { dataset_id: (await byExample(all)).path!['id'], baseline: { recorded: true } } }),
  getExperimentsById: byExperiment,
  deleteExperimentsById: byExperiment,
  getExperimentsByIdResults: byExperiment,
  getExperimentsByIdResultsByExampleId: byExperiment,
  getChainSubAgentsBySubAgentId: bySubAgent,
  deleteChainSubAgentsBySubAgentId: bySubAgent,
  postToolsByNameAccept: async ({ admin }) => {
    const { name, changed } = await firstOf(admin, '/core/v1/tools/changed', 'tools')
    return { path: { name }, body: { hash: changed.hash } }
  },
  getDownloadArtifactByMessageIndexByArtifactIndex: byFile,
  postShareAgentArtifact: byFile,
  getV1ResponsesByResponseId: byResponse,
  postV1ResponsesByResponseIdCancel: byResponse,
  deleteV1ResponsesByResponseId: byResponse,
  getV1ResponsesByResponseIdInputItems: byResponse,
  getV1ConversationsByConversationId: byConversation,
  postV1ConversationsByConversationId: byConversation,
  deleteV1ConversationsByConversationId: byConversation,
  getV1ConversationsByConversationIdItems: byConversation,
  postV1ConversationsByConversationIdItems: byConversation,
  getV1ConversationsByConversationIdItemsByItemId: byItem,
  deleteV1ConversationsByConversationIdItemsByItemId: byItem,
  getKnowledgeByDocumentId: byDocument,
  deleteKnowledgeByDocumentId: byDocument,
  getV1FilesByFileId: byUpload,
  getV1FilesByFileIdContent: byUpload,
  deleteV1FilesByFileId: byUpload,
  getArtifactsByArtifactIdContent: async (all) => {
    await byFile(all)
    return { path: { artifact_id: (await firstOf(all.admin, '/core/v1/artifacts', 'artifacts')).artifact_id } }
  },
  getArtifactsByFolderById: async ({ admin }) => {
    const { download_url: link } = await firstOf(admin, '/core/v1/artifacts', 'artifacts')
    const [folder, id] = new URL(link).pathname.split('/').slice(-2) as [string, string]
    return { path: { folder, id }, query: Object.fromEntries(new URL(link).searchParams) }
  },
  getAgentConfigHistoryByVersion: byVersion,
  postAgentConfigRestore: byVersion,
  a2aGetTask: waitingTask,
  a2aCancelTask: waitingTask,
  a2aSubscribe: endingTask,
  a2aSubscribeByGet: endingTask,
  a2aCreatePushConfig: pushConfig,
  a2aListPushConfigs: notifiedTask,
  a2aGetPushConfig: notifiedTask,
  a2aDeletePushConfig: notifiedTask,
  putBudgetsByNameOverride: byBudget,
  deleteBudgetsByNameOverride: byBudget,
  deleteKeysByJti: async ({ admin }) => ({ path: { jti: (await firstOf(admin, '/core/v1/keys', 'keys')).jti } }),
  postConsoleSession: async ({ admin, url }) => {
    const { body } = await admin.request('POST', '/console/code')
    return { body: { code: body.code }, headers: { origin: url, 'sec-fetch-site': 'same-origin' } }
  },
  deleteConsoleSession: async ({ url, key }) => {
    const { cookie, csrfToken } = await signIn(url, { key })
    return { headers: { cookie, origin: url, 'sec-fetch-site': 'same-origin', 'x-csrf-token': csrfToken } }
  },
  getLanggraphThreadsByThreadId: byThread,
  patchLanggraphThreadsByThreadId: byThread,
  deleteLanggraphThreadsByThreadId: byThread,
  postLanggraphThreadsByThreadIdCopy: byThread,
  getLanggraphThreadsByThreadIdState: byThread,
  postLanggraphThreadsByThreadIdStateCheckpoint: byThread,
  getLanggraphThreadsByThreadIdStateByCheckpointId: byThread,
  getLanggraphThreadsByThreadIdHistory: byThread,
  postLanggraphThreadsByThreadIdHistory: byThread,
  postLanggraphThreadsByThreadIdRunsStream: byThread,
  postLanggraphThreadsByThreadIdRunsWait: byThread,
  postLanggraphThreadsByThreadIdRuns: byThread,
  getLanggraphThreadsByThreadIdRuns: byThread,
  getLanggraphThreadsByThreadIdRunsByRunId: byThread,
  getLanggraphThreadsByThreadIdRunsByRunIdJoin: byThread,
  getLanggraphThreadsByThreadIdRunsByRunIdStream: byThread,
  getLanggraphRunsByRunIdStream: byThread,
  postLanggraphThreadsByThreadIdState: byEmptyThread,
  postLanggraphThreadsByThreadIdRunsByRunIdCancel: byWaitingThread,
  postLanggraphRunsCancel: byWaitingThread,
}
