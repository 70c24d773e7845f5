import type { Principal } from '../../../../access/permissions.ts'
import { accessTo } from '../../../../access/permissions.ts'
import type { Budgets } from '../../../../budgets/budgets.ts'
import { invalid } from '../../../../errors.ts'
import { createSummarise, type Summarise, type SummaryUsage } from '../../../../runs/window/summary.ts'
import { toStoredTurns } from '../../../../runs/window/window.ts'
import type { PlacedMessage } from '../../../../sessions/session-store.ts'
import { disconnectSignal } from '../../../reader.ts'
import { route } from '../../../schemas/shared.ts'
import type { App } from '../../../server/app.ts'
import { principalOf } from '../../../server/authenticate.ts'
import { checkInputSize } from '../../core/open-chat.ts'
import { toMessages } from '../../model-apis/brought-chat.ts'
import { refuseOtherModel, refuseParameters } from '../../model-apis/parameters.ts'
import { openAiErrors } from '../errors.ts'
import { toConversationItems } from '../item-lists.ts'
import { openAiRefusals } from '../replies.ts'
import { openCompactions, sealCompaction } from './compactions.ts'
import { toEntries, toInputItems, toItems } from './input.ts'
import type { CountServices } from './input-tokens.ts'
import { responseRules } from './parameters.ts'
import { findContinued } from './place.ts'
import { withoutReferences } from './references.ts'
import { CompactBody, Compaction, type InputItem } from './schemas.ts'

interface CompactServices extends CountServices {
  budgets: Pick<Budgets, 'modelsFor'>
}

/** Replaces a conversation by its user messages and a summary. */
export function compactRoute(app: App, services: CompactServices): void {
  const summarise = createSummarise(services)
  app.post(
    '/v1/responses/compact',
    route({ access: accessTo.chat, errorShape: openAiErrors, maxBodyBytes: Infinity }, 'OpenAI', {
      summary: 'Compact a conversation',
      text: `Summarizes the \`input\`, behind the conversation of \`previous_response_id\`, with the model of \`llms.small\`; without one, by the first sentence of each message. \`output\` has the user and system messages, then one item \`compaction\`: send them as the input of later requests, in place of the conversation. The content of the item is encrypted, and opens for this caller alone; a changed or foreign one is a 400 that names the item. Nothing is stored, and \`usage\` is that of the summary.

404: the model is not this agent; the previous response or a referenced item is unknown.`,
      examples: {
        messages: {
          summary: 'A conversation',
          value: {
            model: 'agent-core',
            input: [
              { type: 'message', role: 'user', content: 'I work in the North region.' },
              { type: 'message', role: 'assistant', content: 'Noted: the North region.' },
            ],
          },
        },
      },
      body: CompactBody,
      response: { 200: Compaction, ...openAiRefusals(400, 401, 403, 404, 413, 415, 429, 500, 503) },
    }),
    async (request, reply) =>
      compact(services, summarise, {
        principal: principalOf(request),
        id: request.id,
        body: request.body,
        signal: disconnectSignal(reply),
      }),
  )
}

interface CompactRequest {
  principal: Principal
  id: string
  body: CompactBody
  signal: AbortSignal
}

async function compact(services: CompactServices, summarise: Summarise, { principal, id, body, signal }: CompactRequest): Promise<object> {
  const { config } = services.agent()
  refuseParameters(body, { known: CompactBody.properties, rules: responseRules, config })
  refuseOtherModel(body.model, config)
  const sent = toInputItems({ input: body.input ?? [] })
  const items = await withoutReferences(services, principal, await openCompactions(services, principal, toItems(sent)))
  const earlier = await earlierMessages(services, principal, body.previous_response_id ?? null)
  const added = toMessages(toEntries(items))
  checkInputSize(services.agent, added)
  const messages = [...earlier, ...toStoredTurns(added, id, Date.now()).map(({ data, ...message }) => ({ ...message, data }))]
  if (messages.length === 0) throw invalid(['body', 'input'], 'must have a message, or previous_response_id must be given')
  const { tenant, owner, roles } = principal
  const { text, usage } = await summarise({ tenant, owner, roles }, messages, signal)
  const item = { id: `cmp_${id}_0`, type: 'compaction', encrypted_content: await sealCompaction(services, principal, text) }
  const kept = [
    // An image of a stored message cannot be sent again: only its text is left.
    ...toConversationItems(id, earlier.map(withoutImages)).filter(({ role }) => role === 'user'),
    ...sent.flatMap((message, index) => toKept(message, `msg_${id}~1_${index}`)),
  ]
  return {
    id: `resp_${id}`,
    object: 'response.compaction',
    created_at: Math.floor(Date.now() / 1000),
    output: [...kept, item],
    usage: toUsage(usage),
  }
}

async function earlierMessages(services: CompactServices, principal: Principal, previous: string | null): Promise<PlacedMessage[]> {
  const continued = await findContinued(services, principal, { conversation: null, previous_response_id: previous })
  if (!continued) return []
  const { session, messages } = continued
  return (await services.sessionStore.messages(session.tenant, session.key)).filter(({ index }) => index < messages)
}

function withoutImages(message: PlacedMessage): PlacedMessage {
  return { ...message, data: undefined }
}

/** Messages of the caller stay as they are, so that they can be sent again. */
function toKept({ type, role, content }: InputItem, id: string): object[] {
  if ((type ?? 'message') !== 'message' || !role || role === 'assistant') return []
  const parts = typeof content === 'string' ? [{ type: 'input_text', text: content }] : content
  return [{ id, type: 'message', role, status: 'completed', content: parts }]
}

function toUsage({ input, output, cachedInput, reasoning }: SummaryUsage): object {
  return {
    input_tokens: input,
    output_tokens: output,
    total_tokens: input + output,
    input_tokens_details: { cached_tokens: cachedInput, cache_write_tokens: 0 },
    output_tokens_details: { reasoning_tokens: reasoning },
  }
}
