import { requestsOf, type DocumentedOperation, type DocumentedRequest, type Values } from '../../test/fixtures/documented-operations.ts'

/** A request as its parts, so that each part can be spoiled alone. */
export interface ServiceRequest {
  operationId: string
  method: string
  /** Path as in the OpenAPI document, with `{names}`. */
  template: string
  /** Values of the names in the path, not yet encoded. */
  path: Record<string, string>
  query: [name: string, value: string][]
  headers: Record<string, string>
  /** Body before its encoding as JSON; undefined where `text` is the body, or where there is none. */
  json: unknown
  text: Buffer | undefined
  /** What was done to the request, in words. */
  spoiled: string[]
}

/** All requests that the examples of the document describe. */
export function validRequests(operation: DocumentedOperation, values: Values = {}): ServiceRequest[] {
  return requestsOf(operation).map((request) => toRequest(operation, request, values))
}

function toRequest(operation: DocumentedOperation, { type, body }: DocumentedRequest, values: Values): ServiceRequest {
  const examplesIn = (place: string) =>
    (operation.parameters ?? [])
      .filter((one) => one.in === place && one.example !== undefined)
      .map(({ name, example }) => [name, String(example)])
  const given = type === undefined ? undefined : (values.body ?? body)
  const isJson = type?.endsWith('json') ?? false
  const form = type === 'multipart/form-data' ? toForm(given as Record<string, string>) : undefined
  return {
    operationId: operation.operationId,
    method: operation.method,
    template: operation.path,
    path: { ...Object.fromEntries(examplesIn('path')), ...values.path },
    query: Object.entries({ ...(Object.fromEntries(examplesIn('query')) as Record<string, string>), ...values.query }),
    headers: {
      ...(Object.fromEntries(examplesIn('header')) as Record<string, string>),
      ...(type !== undefined && { 'content-type': form ? `multipart/form-data; boundary=${boundary}` : type }),
      ...values.headers,
    },
    json: isJson ? given : undefined,
    text: form ?? (type !== undefined && !isJson ? Buffer.from(String(given)) : undefined),
    spoiled: [],
  }
}

const boundary = 'part'

function toForm(fields: Record<string, string>): Buffer {
  const parts = Object.entries(fields).map(([name, value]) => {
    const file = name === 'file' ? '; filename="notes.txt"\r\ncontent-type: text/plain' : ''
    return `--${boundary}\r\ncontent-disposition: form-data; name="${name}"${file}\r\n\r\n${value}\r\n`
  })
  return Buffer.from(`${parts.join('')}--${boundary}--\r\n`)
}

/** The request target: path and query. */
export function targetOf({ template, path, query }: ServiceRequest): string {
  const filled = template.replace(/\{(\w+)\}/g, (_match, name: string) => encode(path[name] ?? 'none'))
  return query.length === 0 ? filled : `${filled}?${query.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&')}`
}

/** The bytes of the body; undefined without one. */
export function bodyOf({ json, text }: ServiceRequest): Buffer | undefined {
  return text ?? (json === undefined ? undefined : Buffer.from(JSON.stringify(json)))
}

/** Half a surrogate pair has no encoding: the replacement character is sent, as a browser does. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}
