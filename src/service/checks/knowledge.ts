import type { DocumentState, KnowledgeStore } from '../../knowledge/knowledge-store.ts'
import type { Finding } from '../../models/check-models.ts'

/** Reports uploaded documents that are not indexed yet, and those that cannot be read. No finding without documents. */
export async function checkKnowledge(store: Pick<KnowledgeStore, 'counts'>): Promise<Finding[]> {
  const counts = await store.counts()
  const countOf = (...states: DocumentState[]) => states.reduce((sum, state) => sum + (counts.get(state) ?? 0), 0)
  const [waiting, failed, total] = [countOf('waiting', 'indexing'), countOf('failed'), countOf('waiting', 'indexing', 'ready', 'failed')]
  if (total === 0) return []
  const progress: Finding = { state: 'ok', text: `uploaded documents: ${total}, of which ${waiting} are not indexed yet` }
  const advice =
    'GET /core/v1/knowledge of their tenant gives the reason of each. Delete them, or upload them in a format that can be read.'
  return failed === 0 ? [progress] : [progress, { state: 'warn', text: `uploaded documents that cannot be read: ${failed}`, advice }]
}
