import { stringify } from 'yaml'

const shortLength = 70

/** A list or mapping as YAML: a short value on one line, a longer value in blocks. */
export function readableYaml(value: object): string {
  const line = stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trim()
  return line.length <= shortLength && !line.includes('\n') ? line : stringify(value, { lineWidth: 0 }).trimEnd()
}
