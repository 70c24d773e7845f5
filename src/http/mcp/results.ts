import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/server'
import type { JsonValue } from '../../agent/messages.ts'
import { ServiceError, toErrorBody, type ErrorBody } from '../../errors.ts'
import type { Executed, ReturnedContent } from '../../runs/tool-executions/execution-answer.ts'
import { isObject } from '../../json/shape.ts'

/** Most bytes of returned files that a result embeds, for one file and in total. Larger files are links only. */
const maxContentBytes = { file: 4 * 1024 * 1024, all: 8 * 1024 * 1024 }

/**
 * Converts the result of a tool to MCP. Files become short-lived links; a file without a URL has no link. Images, audio and resources that the
 * tool returned are embedded before the links.
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

/** Embeds returned files. A file that cannot be read any more is only a link. */
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
  const resource = { uri: uri ?? link, mimeType }
  const isText = mimeType.startsWith('text/') || /[/+](json|xml|yaml)$/.test(mimeType)
  return { type: 'resource', resource: isText ? { ...resource, text: bytes.toString() } : { ...resource, blob: bytes.toString('base64') } }
}

/** Converts an error to a tool error, which a model can read and act upon. */
export function toFailure({ body, details }: ErrorBody): CallToolResult {
  return { isError: true, content: [{ type: 'text', text: details ? `${details.error_type}: ${body}` : body }] }
}

/** Runs a tool call. Expected errors become tool errors; unexpected errors are thrown. */
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
