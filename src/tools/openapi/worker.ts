import { LineCounter, parseDocument } from 'yaml'
import { messageOf } from '../../errors.ts'
import { createAjv } from '../../json/schema/ajv.ts'
import { serveQuestions, type OpenQuestion } from '../../processes/serve-questions.ts'
import type { Api } from './api.ts'
import { readApi } from './read-api.ts'
import type { FileAnswer, ReadAnswer, ReadQuestion } from './read-document.ts'
import type { LoadedFile } from './references.ts'

/** A process for a single document. */

async function read({ bytes, href, options }: ReadQuestion, open: OpenQuestion): Promise<Api> {
  const api = await readApi({ content: parseText(bytes), href, load: (hrefs) => load(hrefs, open) }, options)
  const ajv = createAjv('tolerant')
  const isFit = ({ schema }: Api['operations'][number]) => ajv.validateSchema(schema) === true
  const broken = api.operations.filter((operation) => !isFit(operation))
  const faults = broken.map(({ id, method, path }) => ({ id, location: `${method} ${path}`, reason: 'its schema is not a JSON Schema' }))
  return { ...api, operations: api.operations.filter((operation) => !broken.includes(operation)), skipped: [...api.skipped, ...faults] }
}

/** Files are read by the service, which decides on the allowed files. */
async function load(hrefs: readonly string[], { request }: OpenQuestion): Promise<Map<string, LoadedFile>> {
  const files = (await request(hrefs)) as FileAnswer[]
  return new Map(files.map((file) => [file.href, 'fault' in file ? { fault: file.fault } : parseFile(file.bytes)]))
}

function parseFile(bytes: Uint8Array): LoadedFile {
  try {
    return { content: parseText(bytes) }
  } catch (error) {
    return { fault: `cannot be read: ${toReason(error)}` }
  }
}

async function answer(question: ReadQuestion, open: OpenQuestion): Promise<ReadAnswer> {
  try {
    return { api: Buffer.from(JSON.stringify(await read(question, open))) }
  } catch (error) {
    return { error: toReason(error) }
  }
}

function toReason(error: unknown): string {
  return error instanceof RangeError ? 'it is nested too deeply' : messageOf(error)
}

/** Limit against nested aliases that expand exponentially ("billion laughs"). */
const maxAliasCount = 1000

/** Parses JSON or YAML. Throws an `Error` with the reason. */
function parseText(bytes: Uint8Array): unknown {
  const text = new TextDecoder().decode(bytes)
  try {
    return JSON.parse(text)
  } catch (error) {
    return parseYaml(text, error)
  }
}

function parseYaml(text: string, jsonFault: unknown): unknown {
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { lineCounter, prettyErrors: false, logLevel: 'silent', merge: true })
  const [fault] = document.errors
  // A text that begins like JSON was most likely meant as JSON, so the JSON error is more useful.
  if (fault && /^\s*[{[]/.test(text) && jsonFault instanceof Error)
    throw new Error(`it is not JSON: ${jsonFault.message}`, { cause: fault })
  if (fault) throw new Error(`it is not YAML, in line ${lineCounter.linePos(fault.pos[0]).line}`)
  try {
    return document.toJS({ maxAliasCount })
  } catch (error) {
    throw new Error('its aliases are invalid or expand to too much', { cause: error })
  }
}

serveQuestions(answer)
