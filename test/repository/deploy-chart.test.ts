import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Ajv } from 'ajv'
import { Deployment } from 'kubernetes-models/apps/v1'
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2'
import { Ingress, NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1'
import { ConfigMap, PersistentVolumeClaim, Secret, Service, ServiceAccount } from 'kubernetes-models/v1'
import { parse, parseAllDocuments } from 'yaml'
import { toAgentConfig } from '../../src/configuration/parse.ts'
import { settingNames } from './setting-names.ts'

/** The chart was rendered by `test/chart/render.go`; what it made of each case is checked here, and that it is what the chart makes now. */

const root = fileURLToPath(new URL('../..', import.meta.url))
const chart = path.join(root, 'deploy/chart')
const folder = path.join(root, 'test/chart')
const read = (...names: string[]) => readFile(path.join(...names), 'utf8')
const load = async (...names: string[]): Promise<any> => parse(await read(...names))

const cases = (await readdir(path.join(folder, 'cases'))).map((file) => path.basename(file, '.yaml'))
const accepted = cases.filter((name) => !name.startsWith('refused'))

const kinds: Record<string, new (data: any) => { validate(): void }> = {
  ...{ ConfigMap, Deployment, HorizontalPodAutoscaler, Ingress, NetworkPolicy },
  ...{ PersistentVolumeClaim, PodDisruptionBudget, Secret, Service, ServiceAccount },
}

async function documentsOf(name: string): Promise<any[]> {
  const documents = parseAllDocuments(await read(folder, 'rendered', `${name}.yaml`)).map((one) => one.toJS())
  return documents.filter((one) => one !== null)
}

async function find(name: string, kind: string): Promise<any> {
  return (await documentsOf(name)).find((one) => one.kind === kind)
}

test('what was rendered is what the chart makes now', async () => {
  const templates = (await readdir(path.join(chart, 'templates'))).map((file) => `deploy/chart/templates/${file}`)
  for (const name of cases) {
    const files = [...templates, 'deploy/chart/Chart.yaml', 'deploy/chart/values.yaml', `test/chart/cases/${name}.yaml`]
    const sum = createHash('sha256')
    for (const file of files.toSorted()) sum.update(await readFile(path.join(root, file)))
    const [first] = (await read(folder, 'rendered', `${name}.yaml`)).split('\n')
    assert.equal(first?.split(' ').at(-1), sum.digest('hex'), `${name}: render the chart again, as test/chart/render.go says`)
  }
})

for (const name of accepted) {
  test(`${name}: every document is what Kubernetes takes`, async () => {
    const documents = await documentsOf(name)
    assert.ok(documents.length >= 2)
    for (const one of documents) {
      if (one.kind !== 'ServiceMonitor') new kinds[one.kind]!(one).validate()
      assert.equal(one.metadata.labels['app.kubernetes.io/instance'], 'demo')
    }
    const names = documents.map((one) => `${one.kind}/${one.metadata.name}`)
    assert.equal(new Set(names).size, names.length)
  })

  test(`${name}: pods are hardened, stop in their time, and are found by what looks for them`, async () => {
    const { spec, metadata } = await find(name, 'Deployment')
    const { spec: pod, metadata: podMetadata } = spec.template
    const [container] = pod.containers
    assert.deepEqual(spec.strategy.rollingUpdate, { maxSurge: 1, maxUnavailable: 0 })
    assert.equal(pod.securityContext.runAsNonRoot, true)
    assert.deepEqual(container.securityContext, {
      ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true },
      capabilities: { drop: ['ALL'] },
    })
    const [, preStop] = container.lifecycle.preStop.exec.command
    // Chats have 30 s, and what is closed behind them up to 15.
    assert.ok(pod.terminationGracePeriodSeconds >= Number(preStop) + 45)
    for (const document of await documentsOf(name)) {
      const selector = document.spec?.selector?.matchLabels ?? (document.kind === 'Service' ? document.spec.selector : undefined)
      if (!selector) continue
      const found = document.kind === 'ServiceMonitor' ? (await find(name, 'Service')).metadata.labels : podMetadata.labels
      for (const [label, value] of Object.entries(selector)) assert.equal(found[label], value, document.kind)
    }
    const scaled = await find(name, 'HorizontalPodAutoscaler')
    if (scaled)
      assert.deepEqual({ name: scaled.spec.scaleTargetRef.name, replicas: spec.replicas }, { name: metadata.name, replicas: undefined })
    const mounted = container.volumeMounts.map((one: { name: string }) => one.name)
    assert.deepEqual(pod.volumes.map((one: { name: string }) => one.name).toSorted(), mounted.toSorted())
  })

  test(`${name}: variables are settings, and secrets stand in secrets alone`, async () => {
    const [container] = (await find(name, 'Deployment')).spec.template.spec.containers
    const known = settingNames()
    const names = container.env.map((one: { name: string }) => one.name)
    for (const variable of names) assert.ok(known.has(variable), variable)
    assert.equal(new Set(names).size, names.length)
    for (const document of await documentsOf(name)) {
      if (document.kind !== 'Secret') assert.doesNotMatch(JSON.stringify(document), /hidden|0123456789/)
    }
    const made = await find(name, 'Secret')
    assert.equal(container.envFrom[0].secretRef.name, made?.metadata.name ?? 'agent-core-secrets')
  })
}

test('the configuration in the values is the agent.yaml that the service reads', async () => {
  const text = (await find('all', 'ConfigMap')).data['agent.yaml']
  assert.deepEqual(parse(text), (await load(folder, 'cases/all.yaml')).agent)
  assert.equal(toAgentConfig(parse(text)).name, 'Helper')
})

test('what can not work is refused in words', async () => {
  const refusals = cases.filter((name) => name.startsWith('refused'))
  assert.equal(refusals.length, 3)
  for (const name of refusals)
    assert.match(await read(folder, 'rendered', `${name}.yaml`), /^#.*\n# refused: (Set |Several pods must )[^\n]+\n$/)
})

test('the schema takes the values and the cases, and no others', async () => {
  const schema = JSON.parse(await read(chart, 'values.schema.json'))
  const check = new Ajv({ strict: false }).compile<any>(schema)
  const values = await load(chart, 'values.yaml')
  assert.ok(check(values), JSON.stringify(check.errors))
  for (const name of cases)
    assert.ok(check({ ...values, ...(await load(folder, `cases/${name}.yaml`)) }), `${name}: ${JSON.stringify(check.errors)}`)
  const wrong = [
    { replica: 2 },
    { replicas: 0 },
    { replicas: '2' },
    { workers: 0 },
    { publicUrl: 'agent.example.com' },
    { image: { repository: '' } },
    { image: { name: 'agent-core' } },
    { secrets: { SECRET_KEY: 'short' } },
    { secrets: { DATABASE_URL: 'mysql://a/b' } },
    { settings: { PORT: 80 } },
    { settings: { 'LOG-LEVEL': 'info' } },
    { settings: { LOG_LEVEL: ['info'] } },
    { settings: { HTTP_BODY_LIMIT: 1_000_000 } },
    { artifacts: { store: '/files' } },
    { data: { accessMode: 'Anything' } },
    { ingress: { hosts: 'agent.example.com' } },
    { terminationGracePeriodSeconds: 30 },
    { autoscaling: { cpu: 'much' } },
  ]
  for (const value of wrong) assert.equal(check({ ...values, ...value }), false, JSON.stringify(value))
  // Every value is in the schema, and every one of the schema has a default.
  assert.deepEqual(Object.keys(schema.properties).toSorted(), [...Object.keys(values), 'global'].toSorted())
})
