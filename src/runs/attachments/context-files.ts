import type { Tool } from '../../agent/tool.ts'
import type { Agent } from '../../configuration/agent.ts'
import { arrange, toContextText, type ArrangedFile, type ContextFile } from '../../files/context-text.ts'
import { createPatterns } from '../../files/patterns.ts'
import type { Attachments } from './attachments.ts'
import { whyUnreadable } from './context-reader.ts'
import { type QuestionFile, toDocument, type SentDocument } from './question-files.ts'
import type { LiveRun } from '../ownership/live-run.ts'

export interface ContextDependencies {
  attachments: Attachments
  /** Creates a tool with the given name, which can read the given files and documents only. */
  readTool(name: string, files: readonly string[], documents: readonly SentDocument[]): Tool
  newId(): string
}

/** Context files, rendered for the model. */
export interface Context {
  /** Put before the run's question. */
  text: string
  files: readonly ArrangedFile[]
  /** Reads the rest of outlined files; undefined when no file is outlined or the agent's configuration has a fitting tool. */
  tool: Tool | undefined
}

/** Loads the current content of a run's context files, and the documents that came with its request. Undefined for none. */
export async function loadContext({ key, request, agent }: LiveRun, deps: ContextDependencies): Promise<Context | undefined> {
  const { contextFiles = [], documents = [], files: readFiles = [] } = request
  const names = contextFiles.filter((name) => !readFiles.some((file) => file.isContextFile && file.name === name))
  if (names.length + documents.length === 0) return undefined
  const files = await Promise.all(
    names.map(async (name): Promise<ContextFile> => {
      // The run was accepted already: a file that has disappeared since must not fail the run.
      const content = await deps.attachments
        .read(name, { caller: key, agent, filters: request.filters })
        .catch((error: unknown) => ({ fault: faultOf(error) }))
      return { name, content }
    }),
  )
  const sent = documents.map((document): ContextFile => ({ name: document.name, content: toDocument(document) }))
  const arranged = arrange([...files, ...sent], characterLimit(agent))
  const outlined = arranged.filter((file) => !file.isWhole).map((file) => file.name)
  const reader = outlined.length > 0 ? readerFor(outlined, documents, agent, deps) : undefined
  const mark = deps.newId().slice(-12)
  return { text: toContextText(arranged, { mark, tool: reader?.name }), files: arranged, tool: reader?.tool }
}

/** A file that the model reads itself, as text for another model. */
export interface FileText {
  /** Put before the question. */
  text: string
  file: ArrangedFile
}

/** The texts of files that the model reads itself. Long texts become outlines. */
export function toFileTexts(files: readonly QuestionFile[], agent: Agent, newId: () => string): Map<QuestionFile, FileText> {
  const readable = files.flatMap((file) => (file.document ? [{ file, content: { ...file, content: toDocument(file.document) } }] : []))
  const arranged = arrange(
    readable.map(({ content }) => content),
    characterLimit(agent),
  )
  const mark = newId().slice(-12)
  return new Map(
    readable.map(({ file }, index) => {
      const shown = arranged[index]!
      return [file, { text: toContextText([shown], { mark, tool: undefined }), file: shown }]
    }),
  )
}

function faultOf(error: unknown): string {
  return `[This file cannot be shown: ${whyUnreadable(error)}]`
}

/** Characters that context files may take: a quarter of the history window. */
function characterLimit({ config }: Agent): number {
  const charactersPerToken = 4
  return (config.memory.history_tokens / 4) * charactersPerToken
}

/** The agent's configured `read_file` tool if its paths permit all files, otherwise a new tool for `names` only. */
function readerFor(
  names: readonly string[],
  documents: readonly SentDocument[],
  agent: Agent,
  { readTool }: ContextDependencies,
): { name: string; tool?: Tool } {
  const listings = agent.tools.list()
  const outlined = documents.filter(({ name }) => names.includes(name))
  const configured = agent.config.tools.find(({ name, type = name, config }) => {
    if (type !== 'read_file' || !listings.some((listing) => listing.name === name && listing.tool)) return false
    const { matches } = createPatterns((config?.['paths'] as string[] | undefined) ?? ['**'])
    return names.every(matches)
  })
  if (configured && outlined.length === 0) return { name: configured.name }
  const name = listings.some((listing) => listing.name === 'read_file') ? 'read_context_file' : 'read_file'
  return { name, tool: readTool(name, names, outlined) }
}
