import { Modal, Stack, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { changeApplication } from '../../api/calls.ts'
import type { Application } from '../../api/records.ts'
import { DialogActions } from '../../components/dialog-actions.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { PackageInput, packageProblem } from './package-input.tsx'

type Props = { application: Application | undefined; onClose(): void }

export function RenameDialog({ application, onClose }: Props) {
  const { t } = useTranslation()
  return (
    <Modal
      opened={application !== undefined}
      onClose={onClose}
      title={t('applications.renameTitle', { name: application?.name ?? '' })}
      closeButtonProps={{ 'aria-label': t('app.close') }}
    >
      {application && <RenameForm application={application} onClose={onClose} />}
    </Modal>
  )
}

function RenameForm({ application, onClose }: Props & { application: Application }) {
  const { t } = useTranslation()
  const queries = useQueryClient()
  const [name, setName] = useState(application.name)
  const [packageName, setPackageName] = useState(application.package_name)
  const saving = useMutation({
    mutationFn: () =>
      changeApplication({
        app_id: application.app_id,
        name: name.trim(),
        package_name: packageName.trim(),
      }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['applications'] })
      onClose()
    },
  })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (!packageProblem(packageName)) saving.mutate()
      }}
    >
      <Stack>
        <TextInput
          label={t('applications.name')}
          value={name}
          maxLength={128}
          required
          withAsterisk={false}
          data-autofocus
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <PackageInput value={packageName} onChange={setPackageName} />
        <ErrorAlert error={saving.error} />
        <DialogActions label={t('app.save')} busy={saving.isPending} onClose={onClose} />
      </Stack>
    </form>
  )
}
