import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

const folder = import.meta.dirname
const styles = path.join(folder, '../../node_modules/@mantine/core/styles')
const whole = readFileSync(path.join(styles, '../styles.layer.css'), 'utf8')

/** Names in `import { ... } from '@mantine/core'` of all files. */
function importedNames(): string[] {
  const texts = globSync('**/*.tsx', { cwd: folder }).map((name) => readFileSync(path.join(folder, name), 'utf8'))
  const lists = texts.flatMap((text) => [...text.matchAll(/import \{([^}]+)\} from '@mantine\/core'/g)].map(([, names]) => names!))
  return [...new Set(lists.join(',').split(','))].map((name) => name.trim()).filter((name) => /^[A-Z]/.test(name))
}

const listed = [...readFileSync(path.join(folder, 'mantine-styles.ts'), 'utf8').matchAll(/styles\/([\w-]+)\.layer\.css/g)].map(
  ([, name]) => name!,
)

test('the styles of each component of Mantine in use are loaded', () => {
  const missing = importedNames().filter((name) => existsSync(path.join(styles, `${name}.layer.css`)) && !listed.includes(name))
  assert.deepEqual(missing, [])
})

test('the styles stand in the order of Mantine', () => {
  const places = listed.slice(3).map((name) => {
    const [firstClass] = /\.m_[0-9a-f]+/.exec(readFileSync(path.join(styles, `${name}.layer.css`), 'utf8'))!
    return whole.indexOf(firstClass)
  })
  assert.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
  )
})
