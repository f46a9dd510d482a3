import { Button, Group, Stack, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { createApplication } from '../../api/calls.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { Panel } from '../../components/panel.tsx'
import { PackageInput, packageProblem } from './package-input.tsx'

/** The secret is shown only once. */
export type Created = { name: string; app_id: string; app_secret: string }

export function CreateForm({ onCreated }: { onCreated(created: Created): void }) {
  const { t } = useTranslation()
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const [packageName, setPackageName] = useState('')
  const creating = useMutation({
    mutationFn: async () => {
      const fields = { name: name.trim(), package_name: packageName.trim() }
      return { name: fields.name, ...(await createApplication(fields)) }
    },
    onSuccess: async (created) => {
      setName('')
      setPackageName('')
      // Its pages open only once the list has it.
      await queries.invalidateQueries({ queryKey: ['applications'] })
      onCreated(created)
    },
  })
  return (
    <Panel title={t('applications.create')}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (!packageProblem(packageName)) creating.mutate()
        }}
      >
        <Stack gap="sm">
          <Group align="flex-start" gap="sm">
            <TextInput
              className="grow"
              miw={200}
              label={t('applications.name')}
              value={name}
              maxLength={128}
              required
              withAsterisk={false}
              onChange={({ currentTarget }) => setName(currentTarget.value)}
            />
            <PackageInput className="grow" miw={200} value={packageName} onChange={setPackageName} />
            <Button type="submit" loading={creating.isPending} className="beside">
              {t('applications.submit')}
            </Button>
          </Group>
          <ErrorAlert error={creating.error} />
        </Stack>
      </form>
    </Panel>
  )
}
