import { Modal, NativeSelect, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { renewSecret } from '../../api/calls.ts'
import type { Application } from '../../api/records.ts'
import { DialogActions } from '../../components/dialog-actions.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { useLabels } from '../../i18n/labels.ts'
import type { Created } from './create-form.tsx'

/** Seconds for which the old secret stays valid. */
const overlaps = [3600, 6 * 3600, 86_400, 0]

type Props = { application: Application | undefined; onRotated(created: Created): void; onClose(): void }

export function RotateDialog({ application, onRotated, onClose }: Props) {
  const { t } = useTranslation()
  return (
    <Modal
      opened={application !== undefined}
      onClose={onClose}
      title={t('applications.rotateTitle', { name: application?.name ?? '' })}
      closeButtonProps={{ 'aria-label': t('app.close') }}
    >
      {application && <RotateForm application={application} onRotated={onRotated} onClose={onClose} />}
    </Modal>
  )
}

function RotateForm({ application, onRotated, onClose }: Props & { application: Application }) {
  const { t } = useTranslation()
  const { duration } = useLabels()
  const [overlap, setOverlap] = useState(overlaps[0]!)
  const rotating = useMutation({
    mutationFn: () => renewSecret(application.app_id, overlap),
    onSuccess: (renewed) => onRotated({ name: application.name, ...renewed }),
  })
  return (
    <Stack>
      <Text size="sm">{t('applications.rotateText')}</Text>
      <NativeSelect
        label={t('applications.overlap')}
        value={String(overlap)}
        onChange={({ currentTarget }) => setOverlap(Number(currentTarget.value))}
        data={overlaps.map((value) => ({
          value: String(value),
          label: value === 0 ? t('applications.overlapNone') : duration(value),
        }))}
      />
      <ErrorAlert error={rotating.error} />
      <DialogActions
        label={t('applications.rotate')}
        danger
        busy={rotating.isPending}
        focus="back"
        onConfirm={() => rotating.mutate()}
        onClose={onClose}
      />
    </Stack>
  )
}
