import type { CallToolResult } from '@modelcontextprotocol/server'
import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import { ServiceError, toErrorBody, type ErrorBody } from '../../errors.ts'
import type { ExecutionAnswer } from '../../runs/executions/direct-execution.ts'

/** The result of a tool in MCP's shape. Files are links that expire soon; a file without an address has no link. */
export function toResult({ output, status, generated_artifacts: files = [] }: ExecutionAnswer): CallToolResult {
  const links = files.flatMap(({ file_name: name, file_type: mimeType, size, download_url: uri }) =>
    uri === undefined ? [] : [{ type: 'resource_link' as const, uri, name, mimeType, size }],
  )
  if (status === 'error') return { isError: true, content: [{ type: 'text', text: reasonOf(output) }, ...links] }
  const content = [{ type: 'text' as const, text: textOf(output) }, ...links]
  return isObject(output) ? { content, structuredContent: output } : { content }
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

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
