import assert from 'node:assert/strict'
import { access, readFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { packageRoot } from '../../src/package-root.ts'
import { settingNames } from './setting-names.ts'

/** Blocks that need Docker or a cluster are not executed. Their variables, values and files are compared with the code here. */
const guides = ['docker', 'compose', 'kubernetes', 'postgres-and-s3', 'backup', 'upgrade', 'sizing']
/** Variables of models, of clients in the examples, and of the Compose files. */
const otherVariables = /^(OPENAI|ANTHROPIC|GEMINI)_API_KEY$|^(KEY|B|B2)$|^(S3_)?LISTEN$/

const read = (name: string) => readFile(path.join(packageRoot, name), 'utf8')
const valuesOf = async (name: string) => parse(await read(name)) as Record<string, unknown>

/** Dotted names of the fields of an object. Lists and empty objects have no fields. */
function fieldNames(value: unknown, prefix = ''): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
  return Object.entries(value).flatMap(([name, field]) => [`${prefix}${name}`, ...fieldNames(field, `${prefix}${name}.`)])
}

for (const guide of guides) {
  test(`the guide ${guide} names variables of the service, values of the chart and files that exist`, async () => {
    const text = await read(`docs/guides/${guide}.md`)
    const settings = settingNames()
    const blocks = [...text.matchAll(/^```(\w+)[^\n]*\n(.*?)^```$/gms)].map(([, language, content]) => ({ language, content: content! }))
    const commands = blocks.filter(({ language }) => language === 'sh').map(({ content }) => content)
    const named = [
      ...commands.flatMap((content) => [...content.matchAll(/(?:^|\s|-e |--from-literal=)([A-Z][A-Z0-9_]*)(?==| agent-core)/g)]),
      ...text.matchAll(/^\| `([A-Z][A-Z0-9_]+)`/gm),
    ].map(([, name]) => name!)
    for (const name of named) assert.ok(settings.has(name) || otherVariables.test(name), name)
    const known = new Set(fieldNames(await valuesOf('deploy/chart/values.yaml')))
    for (const [, name] of commands.flatMap((content) => [...content.matchAll(/--set ([\w.]+)=/g)])) assert.ok(known.has(name!), name)
    for (const [file] of commands.flatMap((content) => [...content.matchAll(/\bdeploy\/[\w./-]+/g)]))
      await access(path.join(packageRoot, file))
  })
}

test('the values of the Kubernetes guide are values of the chart', async () => {
  const [, text = ''] = /^```yaml file=values\.yaml\n(.*?)^```$/ms.exec(await read('docs/guides/kubernetes.md'))!
  const { agent, ...values } = parse(text) as Record<string, unknown>
  const known = new Set(fieldNames(await valuesOf('deploy/chart/values.yaml')))
  assert.ok(agent)
  assert.deepEqual(
    fieldNames(values).filter((name) => !known.has(name)),
    [],
  )
})
