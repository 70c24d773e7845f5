import { charactersIn } from '../../json/shape.ts'
import type { RecalledMemories } from '../../memory/recall.ts'
import type { SubAgent } from '../../sub-agents/sub-agent-store.ts'
import type { Progress } from '../execution/progress.ts'
import type { LiveRun } from '../ownership/live-run.ts'
import type { ChatRequest } from '../run.ts'
import type { ShownParts } from './records.ts'

/** Characters of all parts. */
const maxCharacters = 262_144

/**
 * The input of the model beside the session, within a limit, before memories are put in front of the question. Of a run with data filters only the question is kept: earlier turns,
 * the summary and memories may hold what another run with the same filters must not see.
 */
export function toShown(
  { key, request, input }: LiveRun,
  { turn, history, messages, ownFrom }: Progress,
  memories: RecalledMemories | undefined,
  subAgents: readonly SubAgent[],
): ShownParts {
  const question = messages[ownFrom - 1]?.text ?? input
  const isFiltered = request.filters.length > 0
  const wanted: ShownParts = {
    request: toShownRequest(
      request,
      history.some(({ idx, data }) => idx < turn.messageIndex && data?.requestId === key.requestId),
    ),
    ...(question === input ? {} : { question }),
    ...(isFiltered || !turn.summary ? {} : { summary: turn.summary }),
    ...(isFiltered || !memories ? {} : { memories }),
    ...(subAgents.length > 0 ? { subAgents } : {}),
  }
  const parts: ShownParts = {}
  let remaining = maxCharacters
  for (const [name, part] of Object.entries(wanted)) {
    const characters = charactersIn(part)
    if (characters > remaining) {
      parts.isCut = true
      continue
    }
    Object.assign(parts, { [name]: part })
    remaining -= characters
  }
  return parts
}

/** The fields that decide what the model is shown. Headers are left out: they may hold secrets. */
function toShownRequest(request: ChatRequest, areStored: boolean): ShownParts['request'] {
  const { messages, filters, continuation, instructions, clientTools, modelOptions, responseSchema } = request
  return {
    filters,
    ...(messages.length > 1 && !areStored ? { messages: messages.slice(0, -1) } : {}),
    ...(continuation && { continuation }),
    ...(instructions !== undefined && { instructions }),
    ...(clientTools && { clientTools }),
    ...(modelOptions && { modelOptions }),
    ...(responseSchema && { responseSchema }),
  }
}
