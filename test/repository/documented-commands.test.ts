import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { packageRoot } from '../../src/package-root.ts'

const exclude = ['**/node_modules/**', 'dist/**', 'CHANGELOG.md', 'test/repository/documented-commands.test.ts']
const files = globSync(['**/*.md', 'src/**/*.ts', 'bin/*', 'samples/**/*'], { cwd: packageRoot, exclude }).filter((name) =>
  /\.\w+$/.test(name),
)

/** The package of this name in the registry is not ours. */
test('no documented command would fetch a package named agent-core from the registry', () => {
  const fetching =
    /\b(npx( -y| --yes)? agent-core|npm (i|install|add|exec)( -\S+)* agent-core|(pnpm|yarn) (dlx|add) agent-core)(?=[\s`"'@]|$)/m
  assert.ok(files.length > 100)
  assert.deepEqual(
    files.filter((name) => fetching.test(readFileSync(path.join(packageRoot, name), 'utf8'))),
    [],
  )
})
