import { parse } from 'yaml'
import { checkConfig } from '../../src/configuration/check.ts'
import type { ToolType } from '../../src/configuration/tool-types.ts'

/** An example for each section of agent.yaml that is a mapping or a list. */
const sections = {
  conversation_starters: `
conversation_starters:
  - { title: Sales by region, message: "What were the total sales by region?" }`,
  llms: `
llms:
  primary: { provider: openai, model: gpt-5-mini, api_key: "\${OPENAI_API_KEY}", prices: { input: 0.25, output: 2 } }
  fallback:
    - { provider: anthropic, model: claude-sonnet-4-5, api_key: "\${ANTHROPIC_API_KEY}", max_output_tokens: 4000 }
  small: { provider: openai-compatible, base_url: "http://localhost:11434/v1", model: qwen3 }`,
  tools: `
tools:
  - name: calculator
  - name: handbook
    type: knowledge_search
    description: Finds rules of the company.
    timeout: 10
    config: { paths: ["handbook/**"] }
  - name: write_file
    approval: required`,
  containment: `
containment:
  after_untrusted: approve
  outbound: refuse
  outbound_hosts: [api.example.com]`,
  approvals: `
approvals:
  effects: [write]
  by: role
  expire_after: 3600`,
  budgets: `
budgets:
  - { name: caller-day, scope: caller, window: day, timezone: Europe/Berlin, limit: { tokens: 200000 } }
  - { name: tenant-month, scope: tenant, window: month, limit: { usd: 200 }, warn_at: 0.8, on_exceeded: pause }
  - { name: run, scope: run, limit: { usd: 0.5 } }`,
  memory: `
memory:
  recall: 8
  history_tokens: 32000`,
  sub_agents: `
sub_agents:
  may_create: false
  max: 4`,
  limits: `
limits:
  max_session_wait: 60
  async_concurrency: 32`,
  retention: `
retention:
  sessions: 90
  runs: 30`,
  access: `
access:
  roles:
    reviewer: [runs.read, observability.read]
  rate_limits:
    default: { requests_per_minute: 60, concurrent_runs: 4 }
    admin: {}`,
  audit: `
audit: { enabled: true, reads: true }`,
  schedules: `
schedules:
  max_per_caller: 5
  min_interval: 3600`,
  evals: `
evals:
  concurrency: 4
  max_examples: 500`,
}

/** The entry of `tools` for each tool type with fields of its own. */
const tools: Partial<Record<ToolType, string>> = {
  list_files: '- { name: list_files, config: { paths: ["handbook/**"] } }',
  read_file: '- { name: read_file, config: { paths: ["handbook/**"] } }',
  knowledge_search: '- { name: handbook, type: knowledge_search, config: { paths: ["handbook/**"] } }',
  data_query: '- { name: sales, type: data_query, config: { tables: { sales: data/sales.csv, orders: "data/orders/*.parquet" } } }',
  mcp: `
- name: github
  type: mcp
  config: { url: "https://api.githubcopilot.com/mcp/", headers: { authorization: "Bearer \${GITHUB_TOKEN}" }, include: ["get_*"] }
- name: notes
  type: mcp
  config: { command: npx, args: ["-y", "@modelcontextprotocol/server-memory"], env: { MEMORY_FILE_PATH: notes.jsonl } }`,
  openapi:
    '- { name: orders, type: openapi, config: { spec: orders.yaml, credentials: { bearer: "${ORDERS_TOKEN}" }, include: ["get*"] } }',
  module: '- { name: which_day, type: module, config: { path: tools/which_day.ts } }',
  run_python: '- { name: run_python, config: { memory_mb: 1024, keep_minutes: 30 } }',
  provider: `
- { name: web_search, type: provider, config: { tool: web_search, price: 0.01 } }
- name: docs
  type: provider
  effect: read
  config: { tool: mcp, server_url: "https://mcp.example.com/", authorization: "\${DOCS_TOKEN}" }`,
  web_page: '- { name: web_page, config: { allowed_hosts: ["*.example.com"] } }',
  http_request: `
- name: http_request
  config:
    allowed_hosts: [api.example.com]
    methods: [GET]
    headers: { api.example.com: { authorization: "Bearer \${EXAMPLE_TOKEN}" } }`,
}

/** The example of a section; undefined for a single value. Throws if the service would refuse the example. */
export function exampleOf(section: string): string | undefined {
  return section in sections ? checked(sections[section as keyof typeof sections].trim()) : undefined
}

/** The entries of `tools` for a type. */
export function toolExampleOf(type: ToolType): string {
  const entry = (tools[type] ?? `- name: ${type}`).trim()
  return checked(`tools:\n${entry.replaceAll(/^/gm, '  ')}`)
}

function checked(yaml: string): string {
  const { problems } = checkConfig(parse(yaml))
  if (problems.length > 0) throw new Error(`The example is not valid: ${JSON.stringify(problems)}\n${yaml}`)
  return yaml
}
