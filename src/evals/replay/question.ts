import type { ToolSet } from '../../agent/tool.ts'
import type { ExecutionPorts } from '../../runs/execution/ports.ts'
import type { ChatRequest } from '../../runs/run.ts'
import type { HistoryMessage, Turn } from '../../runs/run-store.ts'
import type { Example } from '../example.ts'

/** The session of a replay: the messages before the question, and the question. */
export function historyOf({ before, input }: Example): HistoryMessage[] {
  const messages = before.filter((entry) => entry.kind === 'message')
  const question = input.messages.at(-1)?.content ?? ''
  return [
    ...messages.map(({ role, content, data }, idx) => ({ idx, role, content, data })),
    { idx: messages.length, role: 'human' as const, content: question, data: undefined },
  ]
}

/** The request of a replay. Headers are those of nobody. */
export function toRequest({ input }: Example): ChatRequest {
  const {
    messages,
    data_filter_hints: filters,
    continuation,
    instructions,
    response_schema: responseSchema,
    client_tools: clientTools,
    model_options: modelOptions,
    images,
    files,
  } = input
  return {
    messages,
    filters,
    headers: {},
    ...(continuation && { continuation }),
    ...(instructions !== undefined && { instructions }),
    ...(responseSchema && { responseSchema }),
    ...(clientTools && { clientTools }),
    ...(modelOptions && { modelOptions }),
    ...(images && { images }),
    ...(files && { files }),
  }
}

/** The turn of a replay: as the session was when the recorded run began. */
export function toTurn(example: Example, newSession: string): Turn {
  const messageCount = historyOf(example).length
  const entry = example.before.find(({ kind }) => kind === 'summary')
  const { kind: _kind, ...summary } = entry?.kind === 'summary' ? entry : { kind: '', text: '' }
  const session = example.original?.session ?? newSession
  return { session, messageIndex: messageCount - 1, messageCount, windowStart: 0, ...(entry && { summary }) }
}

/**
 * The tools with the one that reads the rest of long files of the question, where the recorded run had such a tool beside those of the
 * configuration. The text of the files names the tool.
 */
export function withReader(tools: ToolSet, { input }: Example, readTool: ExecutionPorts['readTool']): ToolSet {
  const [, name] = /read on with the tool (read_file|read_context_file)\./.exec(input.messages.at(-1)?.content ?? '') ?? []
  if (name === undefined || tools.list().some((listing) => listing.name === name)) return tools
  const tool = readTool(name, [])
  return { ...tools, list: () => [...tools.list(), { ...tool, status: 'ready', tool }] }
}
