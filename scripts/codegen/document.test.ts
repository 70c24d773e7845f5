import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { env, execPath } from 'node:process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { startSampleService } from '../../test/fixtures/sample-service.ts'
import { installGenerators, pathOfGenerator } from './install.ts'

/** The OpenAPI document, read by programs that are not ours. */

const run = promisify(execFile)
const tsc = path.join(import.meta.dirname, '../../node_modules/typescript/bin/tsc')

/** Without requests to hosts of the tools. */
const environment = { ...env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', CI: 'true', NO_COLOR: '1' }

test('The OpenAPI document', async (t) => {
  installGenerators()
  const folder = await mkdtemp(path.join(tmpdir(), 'generated-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const service = await startSampleService(t)
  const document = path.join(folder, 'openapi.json')
  await writeFile(document, await (await fetch(`${service.url}/openapi.json`)).text())
  const options = { cwd: folder, env: environment }

  await t.test('passes the recommended rules of Redocly without an error or a warning', async () => {
    const lint = [pathOfGenerator('@redocly/cli/bin/cli.js'), 'lint', document, '--format=json', '--extends=recommended']
    const { stdout } = await run(execPath, lint, options).catch((error: { stdout: string }) => error)
    const { totals, problems } = JSON.parse(stdout) as { totals: object; problems: unknown[] }
    assert.deepEqual(problems, [])
    assert.deepEqual(totals, { errors: 0, warnings: 0, ignored: 0 })
  })

  await t.test('gives a client that compiles strictly, chats and streams', async () => {
    const configuration = { input: document, output: { path: path.join(folder, 'api'), module: { extension: '.js' } } }
    await writeFile(path.join(folder, 'openapi-ts.config.mjs'), `export default ${JSON.stringify(configuration)}\n`)
    await run(execPath, [pathOfGenerator('@hey-api/openapi-ts/bin/run.js')], options)
    await cp(path.join(import.meta.dirname, 'generated-client.sample'), path.join(folder, 'chat.ts'))
    await writeFile(path.join(folder, 'package.json'), '{ "type": "module" }\n')
    const strict = ['--strict', '--noUnusedLocals']
    const target = ['--target', 'es2023', '--lib', 'es2023,dom,dom.iterable', '--module', 'nodenext', '--types', '', '--skipLibCheck']
    await run(execPath, [tsc, ...strict, ...target, 'chat.ts'], options).catch((error: { stdout: string }) => assert.fail(error.stdout))
    const { key } = await service.key({ roles: ['user'] })
    const { stdout } = await run(execPath, ['chat.js', service.url, key], options)
    const { answer, streamed, labels, refused } = JSON.parse(stdout)
    assert.match(answer, /South/)
    assert.equal(streamed, answer)
    assert.ok(labels.includes('tool:sales') && labels.includes('answer'))
    assert.match(refused, /JWT verification failed/)
  })
})
