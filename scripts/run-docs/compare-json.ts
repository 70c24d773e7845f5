import { anything, parseElidedJson, splitDocuments } from './elided-json.ts'

/** Members whose value matters, not its type alone. */
const exact = new Set(['status', 'status_code', 'finish_reason', 'error_type', 'decision', 'role'])

/**
 * Compares an output with the JSON that a page shows, by shape: the same members with the same types, lists of the same length. Returns
 * the differences, none if the shapes agree.
 */
export function compareJson(expected: string, actual: string): string[] {
  const shown = parseElidedJson(expected)
  const documents = parseOutput(actual)
  if (!documents) return ['The output is not JSON.']
  if (shown.length !== documents.length) return [`The page shows ${shown.length} JSON documents, the output has ${documents.length}.`]
  return shown.flatMap((document, index) => compareValue(document, documents[index], shown.length > 1 ? `document ${index + 1}` : ''))
}

function parseOutput(text: string): unknown[] | undefined {
  try {
    return splitDocuments(text).map((document) => JSON.parse(document) as unknown)
  } catch {
    return undefined
  }
}

function compareValue(expected: unknown, actual: unknown, place: string): string[] {
  if (expected === anything) return []
  const [wanted, type] = [typeOf(expected), typeOf(actual)]
  if (wanted !== type) return [`${place || 'the document'} is ${type}, expected ${wanted}`]
  if (Array.isArray(expected)) return compareLists(expected, actual as unknown[], place)
  if (wanted === 'object') return compareObjects(expected as Record<string, unknown>, actual as Record<string, unknown>, place)
  const isExact = exact.has(/[^.]*$/.exec(place)![0])
  return isExact && expected !== actual ? [`${place} is ${JSON.stringify(actual)}, expected ${JSON.stringify(expected)}`] : []
}

function compareObjects(expected: Record<string, unknown>, actual: Record<string, unknown>, place: string): string[] {
  const at = (name: string) => (place === '' ? name : `${place}.${name}`)
  const names = Object.keys(expected).filter((name) => name !== anything)
  const missing = names.filter((name) => !Object.hasOwn(actual, name)).map((name) => `${at(name)} is missing`)
  const extra = anything in expected ? [] : Object.keys(actual).filter((name) => !Object.hasOwn(expected, name))
  const present = names.filter((name) => Object.hasOwn(actual, name))
  return [
    ...missing,
    ...extra.map((name) => `${at(name)} is not on the page`),
    ...present.flatMap((name) => compareValue(expected[name], actual[name], at(name))),
  ]
}

/** An elision in a list stands for any number of elements. Elements after it are counted from the end. */
function compareLists(expected: unknown[], actual: unknown[], place: string): string[] {
  const elision = expected.indexOf(anything)
  const shown = expected.filter((element) => element !== anything)
  if (elision < 0 && shown.length !== actual.length) return [`${place} has ${actual.length} elements, expected ${shown.length}`]
  if (shown.length > actual.length) return [`${place} has ${actual.length} elements, expected at least ${shown.length}`]
  const toIndex = (index: number) => (elision < 0 || index < elision ? index : actual.length - shown.length + index)
  return shown.flatMap((element, index) => compareValue(element, actual[toIndex(index)], `${place}[${toIndex(index)}]`))
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'list' : typeof value
}
