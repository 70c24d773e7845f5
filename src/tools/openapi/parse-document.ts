import { LineCounter, parseDocument } from 'yaml'

/** Limit against nested aliases that expand exponentially ("billion laughs"). */
const maxAliasCount = 1000

/** Parses JSON or YAML. Throws an `Error` with the reason. */
export function parseText(bytes: Uint8Array): unknown {
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
