import { Button } from '@mantine/core'
import { PlusIcon } from '@primer/octicons-react'
import { useState } from 'react'
import { PageHeader } from '../parts/page-header.tsx'
import { PageTabs } from '../parts/page-tabs.tsx'
import { CreateDialog } from './create-dialog.tsx'
import { KeyTable } from './key-table.tsx'
import { RoleTable } from './role-table.tsx'

/** The access keys of the tenant, and what the roles permit. */
export function KeysPage() {
  const [isCreating, setCreating] = useState(false)
  const create = () => setCreating(true)
  return (
    <>
      <PageHeader
        title="Keys"
        actions={
          <Button leftSection={<PlusIcon />} onClick={create}>
            Create key
          </Button>
        }
      >
        Who may use the agent, what each may do, and until when.
      </PageHeader>
      <PageTabs
        tabs={[
          { value: 'keys', label: 'Keys', content: <KeyTable onCreate={create} /> },
          { value: 'roles', label: 'Roles', content: <RoleTable /> },
        ]}
      />
      <CreateDialog opened={isCreating} onClose={() => setCreating(false)} />
    </>
  )
}
