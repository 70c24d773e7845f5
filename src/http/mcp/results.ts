import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/server'
import type { JsonValue } from '../../agent/messages.ts'
import { ServiceError, toErrorBody, type ErrorBody } from '../../errors.ts'
import type { Executed, ReturnedContent } from '../../runs/tool-executions/direct-execution.ts'
import { isObject } from '../../json/is-object.ts'

/** Bytes of returned files that a result holds itself; the others of its files are links alone. */
const maxContentBytes = { file: 4 * 1024 * 1024, all: 8 * 1024 * 1024 }

/**
 * The result of a tool in MCP's shape. Files are links that expire soon; a file without an address has no link. A picture, a sound or a
 * resource that the tool returned stands before the links as content.
 */
export async function toResult({ result, returned }: Executed): Promise<CallToolResult> {
  const { output, status, generated_artifacts: files = [] } = result
  const contents = await toContents(returned)
  const links = files.flatMap(({ file_name: name, file_type: mimeType, size, download_url: uri }): ContentBlock[] =>
    uri === undefined ? [] : [{ type: 'resource_link', uri, name, mimeType, size }],
  )
  if (status === 'error') return { isError: true, content: [{ type: 'text', text: reasonOf(output) }, ...contents, ...links] }
  const content: ContentBlock[] = [{ type: 'text', text: textOf(output) }, ...contents, ...links]
  return isObject(output) ? { content, structuredContent: output } : { content }
}

/** A file that can't be read any more has its link alone. */
async function toContents(returned: readonly ReturnedContent[]): Promise<ContentBlock[]> {
  const contents: ContentBlock[] = []
  let total = 0
  for (const file of returned) {
    const { size } = file.artifact
    if (size > maxContentBytes.file || total + size > maxContentBytes.all) continue
    total += size
    const bytes = await file.read()
    if (bytes) contents.push(toContent(file, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)))
  }
  return contents
}

function toContent({ artifact, uri, link }: ReturnedContent, bytes: Buffer): ContentBlock {
  const { type: mimeType } = artifact
  const kind = /^(image|audio)\//.exec(mimeType)?.[1]
  if (uri === undefined && (kind === 'image' || kind === 'audio')) return { type: kind, mimeType, data: bytes.toString('base64') }
  const about = { uri: uri ?? link, mimeType }
  const isText = mimeType.startsWith('text/') || /[/+](json|xml|yaml)$/.test(mimeType)
  return { type: 'resource', resource: isText ? { ...about, text: bytes.toString() } : { ...about, blob: bytes.toString('base64') } }
}

/** A refusal, or a run that did not answer: an error of the tool, which a model can read and act upon. */
export function toFailure({ body, details }: ErrorBody): CallToolResult {
  return { isError: true, content: [{ type: 'text', text: details ? `${details.error_type}: ${body}` : body }] }
}

/** Runs what a tool call asks for; what it refuses is told to the model, and only a bug is not. */
export async function orFailure(work: () => Promise<CallToolResult>): Promise<CallToolResult> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ServiceError && error.code !== 'internal') return toFailure(toErrorBody(error))
    throw error
  }
}

function textOf(output: JsonValue): string {
  return typeof output === 'string' ? output : JSON.stringify(output)
}

function reasonOf(output: JsonValue): string {
  const reason = isObject(output) ? output['error'] : undefined
  return typeof reason === 'string' ? reason : textOf(output)
}
