import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { readExport } from '../../api/export.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { saveFile } from '../../components/save-file.ts'
import { useLabels } from '../../i18n/labels.ts'
import { useAppId } from '../../session/session.ts'

/** Saves the result of every device of the task as a file. */
export function DownloadAction({ taskId, disabled }: { taskId: number; disabled: boolean }) {
  const { t } = useTranslation()
  const { format } = useLabels()
  const appId = useAppId()
  /** In tenths, so that not every chunk renders the page. */
  const [megabytes, setMegabytes] = useState(0)
  const stop = useRef<AbortController>(undefined)
  useEffect(() => () => stop.current?.abort(), [])
  const download = useMutation({
    mutationFn: async () => {
      const controller = new AbortController()
      stop.current = controller
      setMegabytes(0)
      const { file, isComplete } = await readExport(appId, taskId, {
        signal: controller.signal,
        onBytes: (bytes) => setMegabytes(Math.round(bytes / 100_000) / 10),
      })
      saveFile(file, isComplete ? `task-${taskId}.ndjson` : `task-${taskId}-incomplete.ndjson`)
      return isComplete
    },
  })
  const isStopped = stop.current?.signal.aborted
  return (
    <Stack align="flex-end" gap="xs">
      <Group gap="xs">
        {download.isPending && (
          <Button variant="default" onClick={() => stop.current?.abort()}>
            {t('task.stopDownload')}
          </Button>
        )}
        <Button
          variant="default"
          leftSection={<IconDownload size={16} aria-hidden />}
          loading={download.isPending}
          disabled={disabled}
          onClick={() => download.mutate()}
        >
          {t('task.download')}
        </Button>
      </Group>
      {download.isPending && megabytes > 0 && (
        <Text size="xs" c="dimmed">
          {t('task.downloaded', { n: format.number(megabytes) })}
        </Text>
      )}
      {download.isError && !isStopped && <ErrorAlert error={download.error} />}
      {download.data === false && (
        <Alert role="alert" color="yellow">
          {t('task.downloadCut')}
        </Alert>
      )}
    </Stack>
  )
}
