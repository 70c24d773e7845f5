import { isMap, isScalar, isSeq, parseDocument, type Node, type YAMLMap, type YAMLSeq } from 'yaml'

/** Lists whose entries are merged by their `name`. */
const namedLists = new Set(['tools'])

/** Merges a fragment into a YAML text: maps deeply, entries of `tools` by name, other values replaced. Comments of the text stay. */
export function mergeYaml(text: string, fragment: string): string {
  const document = parseDocument(text)
  const added = parseDocument(fragment)
  if (added.errors.length > 0) throw new Error(added.errors[0]!.message)
  if (!isMap(added.contents)) throw new Error('The fragment must be a map.')
  if (!isMap(document.contents)) throw new Error('The text must be a map.')
  mergeMap(document.contents, added.contents)
  return document.toString({ lineWidth: 0 })
}

function mergeMap(target: YAMLMap, added: YAMLMap): void {
  for (const { key, value } of added.items) {
    const name = isScalar(key) ? String(key.value) : String(key)
    const present = target.get(name, true) as Node | undefined
    if (isMap(present) && isMap(value)) mergeMap(present, value)
    else if (isSeq(present) && isSeq(value) && namedLists.has(name)) mergeNamed(present, value)
    else if (isScalar(present) && isScalar(value)) present.value = value.value
    else target.set(name, value)
  }
}

function mergeNamed(target: YAMLSeq, added: YAMLSeq): void {
  for (const entry of added.items) {
    const name = isMap(entry) ? entry.get('name') : undefined
    const present = target.items.find((item) => isMap(item) && name !== undefined && item.get('name') === name)
    if (isMap(present) && isMap(entry)) mergeMap(present, entry)
    else target.add(entry)
  }
}
