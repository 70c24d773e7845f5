import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { startReceiver } from '../fixtures/callback-receiver.ts'
import {
  operationsOf,
  requestsOf,
  send,
  type DocumentedOperation,
  type OpenApiDocument,
  type Values,
} from '../fixtures/documented-operations.ts'
import { startSampleService } from '../fixtures/sample-service.ts'
import type { Client, Reply } from '../fixtures/service-client.ts'
import { preparations, type Surroundings } from './openapi-examples-setup.ts'

/**
 * Every operation of the OpenAPI document that names something is sent by callers to whom the thing does not belong: other owners of the
 * tenant, and every role of another tenant. None may read or change it, and no list of theirs may show it.
 */

/** What belongs to the service, or to whoever has the link. */
const unowned = new Set([
  'getAgentConfigHistoryByVersion',
  'postAgentConfigRestore',
  'postToolsByNameAccept',
  'postV1Embeddings',
  'getArtifactsByFolderById',
  'postConsoleSession',
  'deleteConsoleSession',
])

/** What callers of the owner's tenant share: documents, and for operators the runs, logs, callbacks, budgets, datasets and experiments of all callers. */
const sharedInTenant: Record<string, string[]> = {
  user: ['getKnowledge', 'getKnowledgeByDocumentId'],
  viewer: ['getKnowledge', 'getKnowledgeByDocumentId'],
  operator: [
    ...['getKnowledge', 'getKnowledgeByDocumentId', 'getRuns', 'getLogs', 'getCallbacks', 'getBudgets'],
    ...['getDatasets', 'getDatasetsById', 'getDatasetsByIdExamples', 'getDatasetsByIdExamplesByExampleId'],
    ...['getExperiments', 'getExperimentsById', 'getExperimentsByIdResults', 'getExperimentsByIdResultsByExampleId'],
  ],
}

/** Operations on the session of a header: for another caller, a session that does not exist yet. */
const ownSession = new Set(['getDownloadArtifactByMessageIndexByArtifactIndex', 'postShareAgentArtifact'])

const strangers = [
  { tenant: 'default', sub: 'bob', roles: ['user'] },
  { tenant: 'default', sub: 'bob', roles: ['viewer'] },
  { tenant: 'default', sub: 'bob', roles: ['operator'] },
  { tenant: 'other', sub: 'ann', roles: ['viewer'] },
  { tenant: 'other', sub: 'ann', roles: ['user'] },
  { tenant: 'other', sub: 'ann', roles: ['operator'] },
  { tenant: 'other', sub: 'ann', roles: ['admin'] },
]

test('no operation reads or changes what belongs to another owner or another tenant', async (t) => {
  const share = await mkdtemp(path.join(tmpdir(), 'share-'))
  t.after(() => rm(share, { recursive: true, force: true }))
  const receiver = await startReceiver(t, () => 503)
  const service = await startSampleService(t, {
    environment: { OUTBOUND_ALLOW: receiver.host, CALLBACK_RETRY_SECONDS: '3600', ARTIFACT_SHARE_DIR: share },
  })
  const ann = await service.as({ sub: 'ann', roles: ['admin'] })
  const { key } = await service.key({ sub: 'ann', roles: ['admin'] })
  const surroundings = { admin: ann, url: service.url, key, receiver, record: () => undefined } as unknown as Surroundings
  const operations = operationsOf((await ann.request('GET', '/openapi.json')).body as OpenApiDocument)
  const creation = operations.find(({ operationId }) => operationId === 'postChainSubAgents')!
  assert.equal((await send(ann, creation, requestsOf(creation)[0]!)).status, 200)
  const hasPreparation = ({ operationId }: DocumentedOperation) => Object.hasOwn(preparations, operationId)
  const owned: { operation: DocumentedOperation; values: Values }[] = []
  for (const operation of operations.filter(hasPreparation).filter(({ operationId }) => !unowned.has(operationId)))
    owned.push({ operation, values: await preparations[operation.operationId]!(surroundings) })
  const ids = idsOf(owned.map(({ values }) => values))
  assert.ok(owned.length > 35 && ids.length > 30, `${owned.length} operations, ${ids.length} ids`)

  let attempts = 0
  for (const stranger of strangers) {
    const client = await service.as(stranger)
    const may = (operationId: string) => stranger.tenant === 'default' && sharedInTenant[stranger.roles[0]!]!.includes(operationId)
    const place = ({ operationId }: DocumentedOperation, { status, text }: Reply) =>
      `${stranger.tenant} ${stranger.roles[0]} ${operationId}: ${status} ${text.slice(0, 300)}`
    for (const { operation, values } of owned.filter(({ operation }) => !may(operation.operationId))) {
      for (const request of requestsOf(operation)) {
        const reply = await send(client, operation, request, values)
        attempts++
        const refused = ownSession.has(operation.operationId) ? [400, 403, 404, 422] : [403, 404]
        assert.ok(refused.includes(reply.status), place(operation, reply))
      }
    }
    const lists = operations.filter((operation) => operation.method === 'GET' && !hasPreparation(operation) && !may(operation.operationId))
    for (const operation of lists) {
      const reply = await send(client, operation, requestsOf(operation)[0]!)
      attempts++
      const seen = ids.filter((id) => reply.text.includes(id))
      assert.deepEqual(seen, [], place(operation, reply))
    }
  }
  t.diagnostic(`${attempts} attempts by ${strangers.length} callers at ${owned.length} operations and all lists`)
  await isUnchanged(ann, owned)
})

/** Ids of the things, which no stranger may see. Short ones, such as the index of an artifact, are no ids. */
function idsOf(values: readonly Values[]): string[] {
  const all = values.flatMap(({ path = {}, headers = {} }) => [...Object.values(path), ...Object.values(headers)])
  return [...new Set(all.filter((id) => id.length >= 20))]
}

/** What the owner has is there after all attempts. */
async function isUnchanged(owner: Client, owned: readonly { operation: DocumentedOperation; values: Values }[]): Promise<void> {
  for (const { operation, values } of owned.filter(({ operation }) => operation.method === 'GET')) {
    const [request] = requestsOf(operation)
    if (operation.operationId.startsWith('a2aSubscribe')) continue
    const reply = await send(owner, operation, request!, values)
    assert.ok(reply.status < 300, `${operation.operationId}: ${reply.status} ${reply.text.slice(0, 300)}`)
  }
  for (const { operation, values } of owned.filter(({ operation }) => operation.method === 'DELETE')) {
    const reply = await send(owner, operation, requestsOf(operation)[0]!, values)
    assert.ok(reply.status < 300, `${operation.operationId}: ${reply.status} ${reply.text.slice(0, 300)}`)
  }
}
