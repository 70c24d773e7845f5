import process from 'node:process'
import { Ajv } from 'ajv'
import { LineCounter, parseDocument } from 'yaml'
import type { Api, ReadOptions } from './api.ts'
import { readApi } from './operations.ts'
import type { ReadAnswer, ReadQuestion } from './read-document.ts'

/** A process for one document: told its text, it answers once with what becomes tools; it ends when its channel closes. */

/** An alias may stand for an alias that stands for ...: what it unfolds to is bounded. */
const maxAliasCount = 1000

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    // What begins like JSON and is none is no YAML either that anybody meant.
    if (/^\s*[{[]/.test(text)) throw new Error(`it is not JSON: ${error instanceof Error ? error.message : ''}`, { cause: error })
  }
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { lineCounter, prettyErrors: false, logLevel: 'silent', merge: true })
  const [fault] = document.errors
  if (fault) throw new Error(`it is not YAML, in line ${lineCounter.linePos(fault.pos[0]).line}`)
  try {
    return document.toJS({ maxAliasCount })
  } catch (error) {
    throw new Error('its aliases unfold to too much, or are none', { cause: error })
  }
}

function read(text: string, options: ReadOptions): Api {
  const api = readApi(parse(text), options)
  const ajv = new Ajv({ strict: false, logger: false })
  const isFit = ({ schema }: Api['operations'][number]) => ajv.validateSchema(schema) === true
  const broken = api.operations.filter((one) => !isFit(one))
  const skipped = [...api.skipped, ...broken.map(({ id }) => `${id}: its schema is no JSON Schema`)]
  return { ...api, operations: api.operations.filter((one) => !broken.includes(one)), skipped }
}

function answer({ bytes, options }: ReadQuestion): ReadAnswer {
  try {
    return { api: JSON.stringify(read(new TextDecoder().decode(bytes), options)) }
  } catch (error) {
    return { error: error instanceof RangeError ? 'it is nested too deeply' : error instanceof Error ? error.message : String(error) }
  }
}

process.once('message', (question: ReadQuestion) => {
  process.send?.(answer(question))
})
process.on('disconnect', () => process.exit(0))
