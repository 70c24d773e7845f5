import {
  BeakerIcon,
  ClockIcon,
  CommentDiscussionIcon,
  CreditCardIcon,
  DependabotIcon,
  FileIcon,
  GraphIcon,
  GearIcon,
  KeyIcon,
  LightBulbIcon,
  LogIcon,
  PulseIcon,
  ServerIcon,
  ShieldCheckIcon,
  ToolsIcon,
  WebhookIcon,
  type Icon,
} from '@primer/octicons-react'
import type { ComponentType } from 'react'

/** A screen of the console. */
export interface Screen {
  /** Pattern of the address below `/console`, as wouter reads it: `/runs/:id`. */
  path: string
  title: string
  /** Permissions that show the screen: any single permission is enough. The server checks each request itself. */
  permissions: readonly string[]
  /** Icon and group in the navigation. Absent on a screen that is opened from another screen. */
  navigation?: {
    icon: Icon
    group: 'Use' | 'Build' | 'Operate'
    /** A permission that the link needs beside the permissions of the screen. */
    permission?: string
  }
  /** Loads the page's own chunk. */
  load: () => Promise<ComponentType>
}

/**
 * All screens, in the order of the navigation; `/` leads to the first that the caller may see.
 * A new screen is one row here, with `load: () => import('./runs/page.tsx').then((page) => page.RunsPage)`;
 * `README.md`, "Add a screen", says the rest.
 */
export const screens: readonly Screen[] = [
  {
    path: '/chat/:session?',
    title: 'Chat',
    permissions: ['chat', 'sessions.read'],
    navigation: { icon: CommentDiscussionIcon, group: 'Use' },
    load: () => import('./chat/page.tsx').then((page) => page.ChatPage),
  },
  {
    path: '/runs',
    title: 'Runs',
    permissions: ['runs.read'],
    navigation: { icon: PulseIcon, group: 'Use' },
    load: () => import('./runs/page.tsx').then((page) => page.RunsPage),
  },
  {
    path: '/runs/:id',
    title: 'Run',
    permissions: ['runs.read'],
    load: () => import('./run/page.tsx').then((page) => page.RunPage),
  },
  {
    path: '/approvals',
    title: 'Approvals',
    permissions: ['runs.read', 'runs.write', 'runs.approve'],
    navigation: { icon: ShieldCheckIcon, group: 'Use' },
    load: () => import('./approvals/page.tsx').then((page) => page.ApprovalsPage),
  },
  {
    path: '/schedules',
    title: 'Schedules',
    permissions: ['schedules.read'],
    navigation: { icon: ClockIcon, group: 'Use' },
    load: () => import('./schedules/page.tsx').then((page) => page.SchedulesPage),
  },
  {
    path: '/schedules/:id',
    title: 'Schedule',
    permissions: ['schedules.read'],
    load: () => import('./schedules/schedule-page.tsx').then((page) => page.SchedulePage),
  },
  {
    path: '/tools/:name?',
    title: 'Tools',
    permissions: ['tools.read'],
    navigation: { icon: ToolsIcon, group: 'Build' },
    load: () => import('./tools/page.tsx').then((page) => page.ToolsPage),
  },
  {
    path: '/agent',
    title: 'Agent',
    permissions: ['config.read'],
    navigation: { icon: GearIcon, group: 'Build' },
    load: () => import('./agent/page.tsx').then((page) => page.AgentPage),
  },
  {
    // The address has the screens of datasets and experiments, in one chunk.
    path: '/evals/*?',
    title: 'Evals',
    permissions: ['evals.read'],
    navigation: { icon: BeakerIcon, group: 'Build' },
    load: () => import('./evals/page.tsx').then((page) => page.EvalsPage),
  },
  {
    path: '/sub-agents',
    title: 'Sub-agents',
    permissions: ['sub_agents.read'],
    navigation: { icon: DependabotIcon, group: 'Use' },
    load: () => import('./sub-agents/page.tsx').then((page) => page.SubAgentsPage),
  },
  {
    path: '/files',
    title: 'Files',
    permissions: ['artifacts.read', 'knowledge.read'],
    navigation: { icon: FileIcon, group: 'Use' },
    load: () => import('./files/page.tsx').then((page) => page.FilesPage),
  },
  {
    path: '/memories',
    title: 'Memories',
    permissions: ['memories.read'],
    navigation: { icon: LightBulbIcon, group: 'Use' },
    load: () => import('./memories/page.tsx').then((page) => page.MemoriesPage),
  },
  {
    path: '/deliveries',
    title: 'Deliveries',
    permissions: ['runs.read'],
    navigation: { icon: WebhookIcon, group: 'Operate' },
    load: () => import('./deliveries/page.tsx').then((page) => page.DeliveriesPage),
  },
  {
    path: '/metrics',
    title: 'Metrics',
    permissions: ['observability.read'],
    navigation: { icon: GraphIcon, group: 'Operate' },
    load: () => import('./metrics/page.tsx').then((page) => page.MetricsPage),
  },
  {
    path: '/budgets',
    title: 'Budgets',
    permissions: ['runs.read'],
    navigation: { icon: CreditCardIcon, group: 'Operate' },
    load: () => import('./budgets/page.tsx').then((page) => page.BudgetsPage),
  },
  {
    path: '/keys',
    title: 'Keys',
    permissions: ['keys.manage'],
    navigation: { icon: KeyIcon, group: 'Operate' },
    load: () => import('./keys/page.tsx').then((page) => page.KeysPage),
  },
  {
    path: '/audit',
    title: 'Audit',
    permissions: ['audit.read'],
    navigation: { icon: LogIcon, group: 'Operate' },
    load: () => import('./audit/page.tsx').then((page) => page.AuditPage),
  },
  {
    path: '/health',
    title: 'Health',
    permissions: ['observability.read'],
    // Only the administrators' tenant may see it. No key of another tenant has permissions of the configuration.
    navigation: { icon: ServerIcon, group: 'Operate', permission: 'config.read' },
    load: () => import('./health/page.tsx').then((page) => page.HealthPage),
  },
]

/** Address of a screen without its parameters: `/chat/:session?` is `/chat`. */
export function hrefOf(screen: Screen): string {
  return screen.path.replace(/\/[:*].*$/, '')
}
